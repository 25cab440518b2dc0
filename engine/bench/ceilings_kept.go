package bench

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/internal/durable"
	"github.com/mcs-notebook/mcs/internal/machine"
	"github.com/mcs-notebook/mcs/internal/race"
	"github.com/mcs-notebook/mcs/internal/regular"
)

// A keeper keeps the ceilings of machines: in memory, and in files, one for each machine and driver.
type keeper struct {
	sync.Mutex
	of      map[string]Ceilings
	asked   time.Time // when the machine was last seen to be busy
	latest  time.Time // when insist last measured,
	unsure  bool      // and whether the machine was busy then
	dir     func() (string, error)
	measure func(ctx context.Context, d device.Device) (Ceilings, error)
	quiet   func(ctx context.Context) bool
}

var kept = &keeper{of: map[string]Ceilings{}, dir: cacheFolder, measure: measureCeilings,
	quiet: func(ctx context.Context) bool { return len(Survey(ctx).Noise()) == 0 }}

// cacheFolder is where the ceilings of all machines that share this home lie.
func cacheFolder() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "mcs", "ceilings"), err
}

// MeasureCeilings returns the ceilings of the default device. They are measured once for a machine, a device
// and a version of the engine, in a second, with 64 MiB, and kept in the user's cache folder
// (mcs/ceilings). What was measured on a busy machine says so in Doubt. It is measured again when the machine
// is quiet, or when something beats it; until then the best of all counts.
func MeasureCeilings(ctx context.Context) (Ceilings, error) {
	return kept.get(ctx, device.Default(), tooNew)
}

// CeilingsOf is [MeasureCeilings] of the devices with these names, such as Tally.Devices has: of several what
// they can do side by side. Without names it is the default device.
func CeilingsOf(ctx context.Context, devices []string) (Ceilings, error) {
	return kept.together(ctx, devices, tooNew)
}

// MeasureCeilingsAgain measures them anew, and forgets what was kept. Where the machine is busy the kept ones
// stay, as far as they are better.
func MeasureCeilingsAgain(ctx context.Context) (Ceilings, error) {
	return kept.get(ctx, device.Default(), 0)
}

const (
	tooNew = time.Duration(1<<63 - 1) // no ceilings are that old
	recent = time.Minute              // ceilings that were measured so short a time ago would be the same again
)

// known returns the ceilings of one device that are there without measuring.
func (k *keeper) known(names []string) (c Ceilings, ok bool) {
	devices, err := devicesOf(names)
	if err != nil || len(devices) != 1 {
		return Ceilings{}, false
	}
	k.Lock()
	defer k.Unlock()
	return k.best(ceilingKey(devices[0]))
}

// best returns the best ceilings that this process or another one has measured. Another one may have found
// the machine quiet meanwhile.
func (k *keeper) best(key string) (c Ceilings, ok bool) {
	c, ok = k.of[key]
	if !ok || c.Doubt != "" {
		if stored, found := k.load(key); found {
			if ok {
				stored = stored.raise(c)
			}
			c, ok = stored, true
			k.of[key] = c
		}
	}
	return c, ok
}

// outdated says whether ceilings are to be measured again to have some that are no older than age. Those of a
// busy machine are, as soon as it is quiet.
func (k *keeper) outdated(ctx context.Context, c Ceilings, age time.Duration) bool {
	old := time.Since(c.Measured)
	switch {
	case old >= age:
		return true
	case c.Doubt == "" || old < recent || time.Since(k.asked) < recent:
		return false
	case k.quiet(ctx):
		return true
	}
	k.asked = time.Now()
	return false
}

// get returns ceilings that are no older than age.
func (k *keeper) get(ctx context.Context, d device.Device, age time.Duration) (Ceilings, error) {
	k.Lock()
	defer k.Unlock()
	key := ceilingKey(d)
	old, known := k.best(key)
	if known && !k.outdated(ctx, old, age) {
		return old, nil
	}
	c, err := k.measure(ctx, d)
	if err != nil {
		return Ceilings{}, err
	}
	c.Machine, c.lately = key, c.Doubt
	// On demand a quiet machine's word is the last one; else the best that was ever reached is the ceiling.
	if known && (age != 0 || c.Doubt != "") {
		measured, lately := c.Measured, c.lately
		c = old.raise(c)
		c.Measured, c.lately = measured, lately
	}
	k.of[key] = c
	k.save(key, c)
	return c, nil
}

// aLittle is how much faster than the ceilings something may seem to be because those were measured beside
// other work, of which nothing was seen: a processor that another process has for a third of the time.
const aLittle = 1.5

// insist says why work is refused that beats the ceilings. If it does so by a little, they are measured once
// more at once, however new they are; what a busy machine says then is no reason to refuse.
func (k *keeper) insist(ctx context.Context, t Tally, seconds float64, c Ceilings) (refused string, err error) {
	share, refused := c.above(t, seconds)
	if share >= aLittle {
		return refused, nil
	}
	const soon = 10 * time.Second
	k.Lock()
	again := time.Since(k.latest) > soon
	k.Unlock()
	if again {
		if c, err = k.together(ctx, t.Devices, 1); err != nil {
			return "", err
		}
		k.Lock()
		k.latest, k.unsure = time.Now(), c.lately != ""
		k.Unlock()
	}
	k.Lock()
	defer k.Unlock()
	if k.unsure {
		return "", nil
	}
	_, refused = c.above(t, seconds)
	return refused, nil
}

// together is get for the devices with these names, or the default one: what they can do side by side.
func (k *keeper) together(ctx context.Context, names []string, age time.Duration) (all Ceilings, err error) {
	devices, err := devicesOf(names)
	if err != nil {
		return Ceilings{}, err
	}
	for i, d := range devices {
		c, err := k.get(ctx, d, age)
		if err != nil {
			return Ceilings{}, err
		}
		if i == 0 {
			all = c
		} else {
			all = all.beside(c)
		}
	}
	return all, nil
}

// devicesOf returns the devices with these names, the default one without any.
func devicesOf(names []string) (list []device.Device, err error) {
	if len(names) == 0 {
		return []device.Device{device.Default()}, nil
	}
	for _, name := range names {
		d, err := device.Lookup(name)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// ceilingKey says what ceilings hold for.
func ceilingKey(d device.Device) string {
	info := d.Info()
	return fmt.Sprintf("%s · %d of %d processors · %s: %s · %s/%s · %s", machine.CPU(), runtime.GOMAXPROCS(0), runtime.NumCPU(), info.Name, info.Detail,
		runtime.GOOS, runtime.GOARCH, engineVersion())
}

// engineVersion is the version of this module, and of the commit that it was built from where that is known.
var engineVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	module, _, _ := strings.Cut(packagePath, "/engine/")
	version := info.Main.Version
	for _, dep := range info.Deps {
		if dep.Path == module {
			return dep.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version += " " + s.Value
		}
	}
	if race.Enabled {
		version += " with -race"
	}
	return version
})

const packagePath = "github.com/mcs-notebook/mcs/engine/bench"

// file is where the ceilings of a key lie.
func (k *keeper) file(key string) (string, error) {
	dir, err := k.dir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:16]+".json"), nil
}

// maxKept is more than a file of ceilings ever has.
const maxKept = 1 << 20

// load reads the ceilings of a machine; a file that is damaged is none.
func (k *keeper) load(key string) (c Ceilings, ok bool) {
	path, err := k.file(key)
	if err != nil {
		return c, false
	}
	text, err := regular.Read(path, maxKept)
	if err != nil || json.Unmarshal(text, &c) != nil || c.Machine != key {
		return Ceilings{}, false
	}
	for _, rate := range c.Arithmetic {
		ok = ok || rate > 0
	}
	return c, ok
}

// save keeps ceilings. What cannot be kept is measured again by the next process: that is no error.
func (k *keeper) save(key string, c Ceilings) {
	path, err := k.file(key)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	text, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return
	}
	_ = durable.WriteFile(path, durable.Text(string(text)+"\n"))
}
