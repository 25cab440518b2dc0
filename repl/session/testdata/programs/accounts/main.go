package main

import (
	"errors"
	"fmt"
	"sort"
)

// An Account holds money in cents.
type Account struct {
	Owner   string
	Balance int64
	log     []Entry
}

type Entry struct {
	Kind   string
	Amount int64
}

var ErrNoFunds = errors.New("not enough money")

type LimitError struct {
	Account *Account
	Wanted  int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s has %d and wants %d", e.Account.Owner, e.Account.Balance, e.Wanted)
}
func (e *LimitError) Unwrap() error { return ErrNoFunds }

func (a *Account) Deposit(n int64) { a.Balance += n; a.log = append(a.log, Entry{"in", n}) }
func (a *Account) Withdraw(n int64) error {
	if n > a.Balance {
		return &LimitError{a, n}
	}
	a.Balance -= n
	a.log = append(a.log, Entry{"out", n})
	return nil
}

type Bank struct{ accounts map[string]*Account }

func (b *Bank) Open(owner string) *Account {
	if b.accounts == nil {
		b.accounts = make(map[string]*Account)
	}
	a := &Account{Owner: owner}
	b.accounts[owner] = a
	return a
}

func (b *Bank) Transfer(from, to string, n int64) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("transfer %s -> %s: %w", from, to, err)
		}
	}()
	src, ok := b.accounts[from]
	if !ok {
		return fmt.Errorf("no account %q", from)
	}
	dst, ok := b.accounts[to]
	if !ok {
		return fmt.Errorf("no account %q", to)
	}
	if err := src.Withdraw(n); err != nil {
		return err
	}
	dst.Deposit(n)
	return nil
}

func main() {
	var b Bank
	b.Open("ann").Deposit(100)
	b.Open("bob")
	fmt.Println(b.Transfer("ann", "bob", 30))
	err := b.Transfer("bob", "ann", 31)
	var le *LimitError
	fmt.Println(err, errors.Is(err, ErrNoFunds), errors.As(err, &le), le.Wanted)
	fmt.Println(b.Transfer("bob", "eve", 1))
	names := make([]string, 0)
	for n := range b.accounts {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Printf("%-4s %5d %v\n", n, b.accounts[n].Balance, b.accounts[n].log)
	}
	fmt.Printf("%+v\n", *b.accounts["bob"])
}
