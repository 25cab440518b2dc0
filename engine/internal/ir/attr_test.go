package ir

import (
	"math"
	"reflect"
	"testing"
)

// A node whose settings have anything in any field keeps them; nodes without settings share theirs.
func TestSettingsOfNodes(t *testing.T) {
	fields := reflect.TypeFor[Attr]()
	for i := range fields.NumField() {
		var a Attr
		field := reflect.ValueOf(&a).Elem().Field(i)
		switch field.Kind() {
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Interface:
			field.Set(reflect.ValueOf(testDevice("here")))
		case reflect.Struct:
			field.Field(0).SetFloat(math.Copysign(0, -1))
		case reflect.Float64:
			field.SetFloat(math.Copysign(0, -1))
		default:
			field.Set(reflect.ValueOf(1).Convert(field.Type()))
		}
		if got := newNode(Add, &a).Attr; got == none || !reflect.DeepEqual(*got, a) {
			t.Errorf("%s: got %v, want %v", fields.Field(i).Name, *got, a)
		}
	}
	n, m := newNode(Add, &Attr{}), newNode(Mul, &Attr{})
	if n.Flag(Varies); n.Attr.Flags != Varies || m.Attr.Flags != 0 || newNode(Add, &Attr{}).Attr != m.Attr {
		t.Error("a switch of one node is one of others")
	}
}
