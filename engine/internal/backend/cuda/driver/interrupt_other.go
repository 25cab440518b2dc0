//go:build !linux

package driver

// uninterrupted calls f: there is no cuDNN here.
func (d *Driver) uninterrupted(f func()) { f() }
