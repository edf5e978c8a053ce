package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// version names the source of a package.
type version struct {
	module string    // as Go writes it, such as v0.2.0 or v0.0.0-20260102030405-0123456789ab
	Time   time.Time // of the commit; the time of every file in a package
}

// The version of a module is a tag, or is derived from a commit that has none (go.dev/ref/mod,
// "Pseudo-versions").
var (
	ofTag    = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-(?:alpha|beta|rc)\.\d+)?$`)
	ofCommit = regexp.MustCompile(`^v(\d+\.\d+\.\d+)-(?:0\.)?(\d{14})-([0-9a-f]{12})$`)
)

// parseVersion reads the version that Go stamps into a program which is built from a commit.
func parseVersion(module string, commit time.Time) (version, error) {
	if !ofTag.MatchString(module) && !ofCommit.MatchString(module) {
		return version{}, fmt.Errorf("dist: found the version %q, expected that of a tag such as v0.2.0 or v0.2.0-rc.1, or of a commit", module)
	}
	return version{module, commit.UTC()}, nil
}

// String returns the version for archives: 0.2.0, 0.2.0-rc.1, 0.0.0-20260102030405-0123456789ab.
func (v version) String() string { return v.module[1:] }

// python returns the version by PEP 440: 0.2.0, 0.2.0rc1, 0.0.0.dev20260102030405+g0123456789ab.
func (v version) python() string {
	if ofCommit.MatchString(v.module) {
		return ofCommit.ReplaceAllString(v.module, "$1.dev$2+g$3")
	}
	return strings.NewReplacer("-alpha.", "a", "-beta.", "b", "-rc.", "rc").Replace(v.String())
}

// debian returns the version by deb-version(7), where ~ sorts before nothing: 0.2.0, 0.2.0~rc.1,
// 0.0.0~20260102030405.0123456789ab.
func (v version) debian() string {
	if ofCommit.MatchString(v.module) {
		return ofCommit.ReplaceAllString(v.module, "$1~$2.$3")
	}
	return strings.Replace(v.String(), "-", "~", 1)
}
