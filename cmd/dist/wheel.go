package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// WheelName returns the file name of the wheel, which tells pip where it can be installed.
func (c Contents) WheelName() string {
	return fmt.Sprintf("dpsgd-%s-py3-none-%s.whl", c.Version.python(), strings.Join(c.Platform.wheel, "."))
}

// Wheel returns the Python package dpsgd with the program in it, in the format of PEP 427.
func (c Contents) Wheel() ([]byte, error) {
	info := "dpsgd-" + c.Version.python() + ".dist-info"
	files := below("dpsgd", c.Python)
	files = append(files, file{Name: "dpsgd/bin/" + c.Platform.Program(), Content: c.Program, Program: true})
	files = append(files, below(info, []file{
		{Name: "METADATA", Content: c.metadata()},
		{Name: "WHEEL", Content: c.tags()},
		{Name: "entry_points.txt", Content: []byte("[console_scripts]\ndpsgd = dpsgd.__main__:main\n")},
		{Name: "LICENSE", Content: c.Licence},
		{Name: "THIRD_PARTY_LICENSES", Content: c.Licences},
	})...)
	return zipped(append(files, record(info+"/RECORD", files)), c.Version.Time)
}

// metadata returns the file METADATA, of version 2.1, with the guide as the long description.
func (c Contents) metadata() []byte {
	return fmt.Appendf(nil, `Metadata-Version: 2.1
Name: dpsgd
Version: %s
Summary: %s
License: Apache-2.0
License-File: LICENSE
License-File: THIRD_PARTY_LICENSES
Requires-Python: >=3.9
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

%s`, c.Version.python(), summary, c.PythonGuide)
}

// tags returns the file WHEEL, which says where the wheel can be installed, a combination a line.
func (c Contents) tags() []byte {
	b := []byte("Wheel-Version: 1.0\nGenerator: dpsgd\nRoot-Is-Purelib: false\n")
	for _, platform := range c.Platform.wheel {
		b = fmt.Appendf(b, "Tag: py3-none-%s\n", platform)
	}
	return b
}

// record returns the file RECORD: files with their hashes and sizes, and itself with neither.
func record(name string, files []file) file {
	var b bytes.Buffer
	for _, f := range sorted(files) {
		hash := sha256.Sum256(f.Content)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(hash[:]), len(f.Content))
	}
	fmt.Fprintf(&b, "%s,,\n", name)
	return file{Name: name, Content: b.Bytes()}
}
