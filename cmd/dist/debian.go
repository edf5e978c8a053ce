package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"strings"
	"time"
)

const summary = "train neural networks with differential privacy (DP-SGD)"

// maintainer is a placeholder for the people who publish the packages.
const maintainer = "The authors of dpsgd <dpsgd@example.org>"

// DebianName returns the file name of the Debian package, or "" if Debian lacks the platform.
func (c Contents) DebianName() string {
	if c.Platform.debian == "" {
		return ""
	}
	return "dpsgd_" + c.Version.debian() + "_" + c.Platform.debian + ".deb"
}

// Debian returns a binary package in the format of deb(5): an ar archive of the format's version,
// the control files, and the files to install.
func (c Contents) Debian() ([]byte, error) {
	files := c.debianFiles()
	data, err := tarred(files, c.Version.Time)
	if err != nil {
		return nil, err
	}
	control, err := tarred([]file{
		{Name: "control", Content: c.control(files)},
		{Name: "md5sums", Content: md5sums(files)},
	}, c.Version.Time)
	if err != nil {
		return nil, err
	}
	out := bytes.NewBufferString("!<arch>\n")
	for _, member := range []file{
		{Name: "debian-binary", Content: []byte("2.0\n")},
		{Name: "control.tar.gz", Content: control},
		{Name: "data.tar.gz", Content: data},
	} {
		fmt.Fprintf(out, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member.Name, c.Version.Time.Unix(), 0, 0, "100644", len(member.Content))
		out.Write(member.Content)
		if len(member.Content)%2 == 1 {
			out.WriteByte('\n') // members begin at even places
		}
	}
	return out.Bytes(), nil
}

// debianFiles returns the files to install, where the FHS and Debian's policy have them.
func (c Contents) debianFiles() []file {
	files := []file{
		{Name: "usr/bin/train", Content: c.Program, Program: true},
		{Name: "usr/bin/dpsgd", Link: "train"},
		{Name: "usr/share/doc/dpsgd/copyright", Content: []byte(copyright)},
		{Name: "usr/share/doc/dpsgd/README.md", Content: c.Readme},
		{Name: "usr/share/doc/dpsgd/changelog.gz", Content: gzipped(c.debianChangelog())},
		{Name: "usr/share/doc/dpsgd/THIRD_PARTY_LICENSES.gz", Content: gzipped(c.Licences)},
	}
	if c.MPI != nil {
		files = append(files, file{Name: "usr/bin/" + mpiProgram, Content: c.MPI, Program: true})
	}
	shells := map[string]string{
		"train.bash": "usr/share/bash-completion/completions/train",
		"_train":     "usr/share/zsh/vendor-completions/_train",
		"train.fish": "usr/share/fish/vendor_completions.d/train.fish",
	}
	for _, completion := range c.Completions {
		if place, ok := shells[completion.Name]; ok {
			files = append(files, file{Name: place, Content: completion.Content})
		}
	}
	for _, page := range c.Manual {
		files = append(files, file{Name: "usr/share/man/man1/" + page.Name + ".gz", Content: gzipped(page.Content)})
		if page.Name == "train.1" {
			files = append(files, file{Name: "usr/share/man/man1/dpsgd.1.gz", Link: "train.1.gz"})
		}
	}
	return files
}

// copyright is the file of that name. It names the copy of the licence on every Debian system.
const copyright = `Copyright 2026 the authors of dpsgd

Licensed under the Apache License, version 2.0: /usr/share/common-licenses/Apache-2.0.
What the program is built with has the licences in THIRD_PARTY_LICENSES.gz, beside this file.
`

// debianChangelog returns a changelog of one entry, in the format of Debian's policy, section 4.4.
func (c Contents) debianChangelog() []byte {
	return fmt.Appendf(nil, "dpsgd (%s) unstable; urgency=medium\n\n  * The program at version %s.\n\n -- %s  %s\n",
		c.Version.debian(), c.Version, maintainer, c.Version.Time.Format(time.RFC1123Z))
}

// control returns the control file of deb-control(5). The program depends on nothing; recommended
// are certificates, to download data sets, and suggested is MPI, whose library train-mpi opens.
func (c Contents) control(files []file) []byte {
	kibibytes := 0
	for _, f := range files {
		kibibytes += (len(f.Content) + 1023) / 1024
	}
	return []byte(strings.TrimLeft(fmt.Sprintf(`
Package: dpsgd
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Recommends: ca-certificates
Suggests: openmpi-bin | mpich
Section: science
Priority: optional
Description: %s
 A run follows a short configuration, stops before its privacy budget would be
 passed, and leaves a model, a privacy statement and a ledger of everything that
 was released. The program also answers what a training costs in privacy.
`, c.Version.debian(), c.Platform.debian, maintainer, kibibytes, summary), "\n"))
}

func md5sums(files []file) (b []byte) {
	for _, f := range sorted(files) {
		if f.Link == "" {
			b = fmt.Appendf(b, "%x  %s\n", md5.Sum(f.Content), f.Name)
		}
	}
	return b
}
