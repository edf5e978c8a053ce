package configs

// KeyError says that the value of one key, which is valid by itself, does not fit the data or the
// other values. Package places finds where the key stands.
type KeyError struct {
	Key     string // full path, such as privacy.delta
	Problem string // what was found and what was expected, to be read behind the key
}

func (e *KeyError) Error() string { return e.Key + " " + e.Problem }
