package configs

// Key documents one key of a configuration.
type Key struct {
	Path    string // such as privacy.clip_norm
	Value   string // what it may hold, in words
	Default string // as in YAML; "" when there is none
	Doc     string // one sentence or two
}

// Keys lists every key of a configuration in file order.
func Keys() []Key {
	keys := make([]Key, len(fields))
	defaults := DefaultConfig()
	for i, f := range fields {
		keys[i] = Key{Path: f.path, Value: f.format.Expected(), Doc: f.meaning()}
		if f.hasDefault() {
			keys[i].Default = encode(f.format, f.at(&defaults))
		}
	}
	return keys
}
