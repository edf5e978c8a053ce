package main

import (
	"fmt"
	"strings"
)

// platform is a system and a processor that programs are built for.
type platform struct {
	OS, Arch string // as Go names them

	wheel  []string // the platform tags of a wheel
	debian string   // the architecture of a Debian package; "" if there is none
}

// platforms lists the systems for which there are packages. The program is static, so that its
// wheel runs with the C library of any Linux. The macOS in a tag is the oldest one that Go 1.26
// supports (go.dev/wiki/MinimumRequirements).
var platforms = []platform{
	{"linux", "amd64", []string{"manylinux2014_x86_64", "manylinux_2_17_x86_64", "musllinux_1_1_x86_64"}, "amd64"},
	{"linux", "arm64", []string{"manylinux2014_aarch64", "manylinux_2_17_aarch64", "musllinux_1_1_aarch64"}, "arm64"},
	{"darwin", "amd64", []string{"macosx_12_0_x86_64"}, ""},
	{"darwin", "arm64", []string{"macosx_12_0_arm64"}, ""},
	{"windows", "amd64", []string{"win_amd64"}, ""},
}

// parsePlatforms reads names such as linux/amd64, with commas between them; "" is all platforms.
func parsePlatforms(names string) ([]platform, error) {
	if names == "" {
		return platforms, nil
	}
	byName, known := map[string]platform{}, make([]string, len(platforms))
	for i, p := range platforms {
		known[i], byName[p.String()] = p.String(), p
	}
	var found []platform
	for name := range strings.SplitSeq(names, ",") {
		p, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("dist: found the platform %q, expected one of %s", name, strings.Join(known, ", "))
		}
		found = append(found, p)
	}
	return found, nil
}

func (p platform) String() string { return p.OS + "/" + p.Arch }

// Program returns the file name of the program.
func (p platform) Program() string {
	if p.OS == "windows" {
		return "train.exe"
	}
	return "train"
}

// MPI reports whether the platform has a program for MPI launchers, which runs on glibc.
func (p platform) MPI() bool { return p.OS == "linux" }
