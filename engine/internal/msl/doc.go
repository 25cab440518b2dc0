// Package msl reads kernels in the Metal Shading Language, and writes the same kernels as CUDA and as C++ for
// checking.
//
// A kernel is written once. [Parse] finds the kernels of a text, what they take and how the templates among
// them are instantiated. [Lint] reports what Metal would refuse, so that a machine without a Mac finds it.
// [Source.CUDA] and [Source.Check] rewrite the text token by token and add what launches the kernels; the
// preludes in package shaders give the words their meaning. Every line stays where it was, so a message of
// a compiler or a sanitizer names the line of the kernel.
//
// The text is read as it stands, without a preprocessor, because a program that compiles kernels on the
// machine of a person has none. So heads of kernels, instantiations and declarations of threadgroup memory
// stand in the text itself and not in a macro. An instantiation names its kernel once:
//
//	template [[host_name("softmax_f16")]] kernel decltype(softmax<half>) softmax<half>;
//
// Of the arguments of a kernel, a `constant T&` is a value that the launch carries, a `device T*` or a
// `constant T*` an address, and a `threadgroup T*` memory whose size the launch says.
package msl
