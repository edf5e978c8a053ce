package books

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"dpsgd/checkpoints"
	"dpsgd/internal/folder"

	"golang.org/x/mod/sumdb/note"
)

// Head names one state of a ledger of data sets: whoever keeps it elsewhere finds out later if the
// ledger was put back, cut off or replaced since.
type Head struct {
	Ledger string `json:"ledger"` // its identifier
	Lines  int    `json:"lines"`  // of the file
	Hash   string `json:"head"`   // of the last line, which stands for all of them
}

// headFormat is the first line of a head's text.
const headFormat = "dpsgd ledger head 1"

// String returns the text of a head, four lines, to sign and keep.
func (h Head) String() string {
	return fmt.Sprintf("%s\n%s\n%d\n%s\n", headFormat, h.Ledger, h.Lines, h.Hash)
}

// parseHead reads what [Head.String] writes, and nothing else.
func parseHead(text string) (h Head, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) == 5 {
		_, err = fmt.Sscanf(lines[2], "%d", &h.Lines)
		h.Ledger, h.Hash = lines[1], lines[3]
	}
	if err != nil || h.String() != text || h.Hash == "" {
		return Head{}, errors.New("found another text than the four lines of `train ledger head`")
	}
	return h, nil
}

// ReadHead returns the head of the ledger of data sets in a folder of runs.
func ReadHead(dir string) (Head, error) {
	if err := folder.Check(dir, "a folder of runs"); err != nil {
		return Head{}, err
	}
	i, err := ReadDatasets(dir)
	if err != nil {
		return Head{}, err
	}
	if i.ID == "" {
		return Head{}, fmt.Errorf("%w: %s holds no %s, expected one that a run has made", folder.ErrNoRun, dir, folder.Datasets)
	}
	return Head{i.ID, i.Lines, i.Hash}, nil
}

// NewKey writes a new key for signing heads into a file that is not there yet, for its owner alone,
// and returns the key that verifies its signatures, which is no secret. name is whose key it is.
func NewKey(path, name string) (verifier string, err error) {
	secret, verifier, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return "", fmt.Errorf("train: cannot make a key: %w", err)
	}
	if err := checkpoints.CreateFileAtomic(path, []byte(secret+"\n"), 0o600); errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%w: found %s, expected a file that is not there", folder.ErrRunExists, path)
	} else if err != nil {
		return "", fmt.Errorf("train: cannot write the key: %w", err)
	}
	return verifier, nil
}

// Sign returns the head as a note signed with the key in a file, in the format of Go's checksum
// database (https://pkg.go.dev/golang.org/x/mod/sumdb/note).
func (h Head) Sign(keyFile string) (string, error) {
	secret, err := os.ReadFile(keyFile)
	if err != nil {
		return "", fmt.Errorf("train: cannot read the key: %w", err)
	}
	signer, err := note.NewSigner(strings.TrimSpace(string(secret)))
	if err != nil {
		return "", fmt.Errorf("train: %s: found no key, expected a file that `train ledger key` has made: %w", keyFile, checkpoints.ErrCorrupt)
	}
	signed, err := note.Sign(&note.Note{Text: h.String()}, signer)
	return string(signed), err
}

// OpenWitness returns the head in a file with a signed note, if the signature is by the verifier's
// key.
func OpenWitness(path, verifier string) (Head, error) {
	key, err := note.NewVerifier(verifier)
	if err != nil {
		return Head{}, fmt.Errorf("%w: found the key %q, expected the line that `train ledger key` printed", ErrWitnessKey, verifier)
	}
	signed, err := os.ReadFile(path)
	if err != nil {
		return Head{}, fmt.Errorf("train: cannot read the witness: %w", err)
	}
	opened, err := note.Open(signed, note.VerifierList(key))
	if err != nil {
		return Head{}, fmt.Errorf("train: %s: %w (%v), expected a note that %s has signed", path, checkpoints.ErrCorrupt, err, key.Name())
	}
	h, err := parseHead(opened.Text)
	if err != nil {
		return Head{}, fmt.Errorf("train: %s: %w: %w", path, err, checkpoints.ErrCorrupt)
	}
	return h, nil
}

// ErrWitnessKey marks what is no key that verifies signatures.
var ErrWitnessKey = errors.New("train: the key of the witness")

// holds returns an error unless the ledger of data sets in the survey has, in the line that the head
// names, the head's hash: it begins then with what the witness saw.
func (h Head) holds(k Known) error {
	if k.ID != h.Ledger {
		return fmt.Errorf("train: %s: found the ledger %q, expected %s, which the witness saw: %w", k.path(), k.ID, h.Ledger, checkpoints.ErrRollback)
	}
	line, err := checkpoints.FindHash(k.path(), h.Hash)
	if err != nil {
		return err
	}
	if line != h.Lines {
		return fmt.Errorf("train: %s: found %d lines, none or another one than line %d with the hash %s that the witness saw: %w", k.path(), k.Lines, h.Lines, h.Hash, checkpoints.ErrRollback)
	}
	return nil
}
