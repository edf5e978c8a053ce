//go:build unix

package checkpoints

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Under a umask that forbids nothing, a model file is still 0600.
func TestModelPermissionsUnderUmaskZero(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := WriteModel(path, sampleTensors, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("found permissions %v, expected 0600", info.Mode().Perm())
	}
}
