package main

import (
	"fmt"
	"github.com/robfig/cron/v3"
	"time"
)

func main() {

	c := cron.New(cron.WithSeconds())
	done := make(chan bool, 10)
	id, err := c.AddFunc("* * * * * *", func() { done <- true })
	fmt.Println(id, err)
	c.Start()
	<-done
	<-c.Stop().Done()
	s, err := cron.ParseStandard("30 3-6,20-23 * * *")
	fmt.Println(s.Next(time.Date(2024, 1, 2, 7, 0, 0, 0, time.UTC)), err)
	_, err = c.AddFunc("x", func() {})
	fmt.Println(err)
}
