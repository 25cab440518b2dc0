package main

import (
	"fmt"
	"time"
)

type Weekdays map[time.Weekday]int

func easter(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	d, e := b/4, b%4
	g := (8*b + 13) / 25
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 19*l) / 433
	n := (h + l - 7*m + 90) / 25
	p := (h + l - 7*m + 33*n + 19) % 32
	return time.Date(year, time.Month(n), p, 0, 0, 0, 0, time.UTC)
}

func main() {
	for _, y := range []int{1999, 2000, 2024, 2026} {
		fmt.Println(easter(y).Format("Mon 2 Jan 2006"))
	}
	t := time.Date(2024, time.February, 29, 23, 59, 30, 0, time.UTC)
	fmt.Println(t.AddDate(1, 0, 0).Format(time.RFC3339), t.Add(45*time.Second).Weekday(), t.YearDay())
	d, err := time.ParseDuration("1h15m30.5s")
	fmt.Println(d, err, d.Minutes(), d.Round(time.Minute), d.Truncate(time.Hour))
	_, err = time.Parse("2006-01-02", "2024-13-01")
	fmt.Println(err)
	u, _ := time.Parse(time.DateTime, "2024-03-01 00:00:00")
	fmt.Println(u.Sub(t), u.After(t), t.Before(u), u.Equal(u.In(time.FixedZone("X", 3600))))
	w := Weekdays{}
	for m := time.January; m <= time.December; m++ {
		w[time.Date(2024, m, 13, 0, 0, 0, 0, time.UTC).Weekday()]++
	}
	fmt.Println(w[time.Friday], len(w))
	fmt.Println(time.Unix(0, 0).UTC(), time.Month(5), time.Duration(1500)*time.Millisecond)
}
