document.addEventListener("click", e => {
  if (e.target.tagName !== "BUTTON") return
  const code = e.target.parentElement.querySelector("code"), said = text => {
    e.target.textContent = text
    setTimeout(() => e.target.textContent = "copy", 1500)
  }
  navigator.clipboard.writeText(code.textContent).then(() => said("copied"), () => {
    getSelection().selectAllChildren(code)
    said("selected")
  })
})
