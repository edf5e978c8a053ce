package configs

import (
	"fmt"

	"dpsgd/internal/setting"
)

// check reports what is missing and what does not fit together, where the values alone are fine.
// bad holds the keys that were reported already.
func check(r *report, c *Config, doc document, bad map[string]bool, sections map[string]section) {
	missing := func(parent, key, expected string) {
		s, ok := sections[parent]
		if !ok {
			s = sections[""]
		}
		if s.broken {
			return // that it could not be read has been said already
		}
		r.addf(s.at, key, "found nothing, expected %s", expected)
	}
	checkData(c, doc, missing)
	checkBudget(c, doc, bad, missing)
	checkChannels(r, c, doc, bad)
	checkWarmup(r, c, doc, bad)
}

// has reports whether a key was given at all.
func (d document) has(path string) bool { _, ok := d[path]; return ok }

func checkData(c *Config, doc document, missing func(parent, key, expected string)) {
	if !doc.has("data.name") && !doc.has("data.folder") {
		missing("data", "data", fmt.Sprintf("name (%s) or folder", setting.Choice(datasetNames()).Expected()))
		return
	}
	if !doc.has("data.folder") || doc.has("data.name") {
		return
	}
	// Nothing about the pictures is inferred from them.
	for _, path := range []string{"data.classes", "data.size", "data.channels"} {
		if !doc.has(path) {
			missing("data", path, fieldAt(path).format.Expected()+", because data.folder is given")
		}
	}
}

func checkBudget(c *Config, doc document, bad map[string]bool, missing func(parent, key, expected string)) {
	if c.Privacy.Epsilon > 0 || c.Privacy.NoiseMultiplier > 0 || bad["privacy.epsilon"] || bad["privacy.noise_multiplier"] {
		return
	}
	missing("privacy", "privacy", "epsilon (a budget) or noise_multiplier (a fixed noise), or both")
}

// checkChannels compares the normalisation constants with the channels, where these are known.
func checkChannels(r *report, c *Config, doc document, bad map[string]bool) {
	channels := c.Data.Channels
	for _, d := range datasets {
		if d.name == c.Data.Name {
			channels = d.channels
		}
	}
	if channels == 0 || bad["data.channels"] {
		return
	}
	expect := func(path string, values []float64) {
		if n := len(values); !bad[path] && n != 1 && n != channels {
			expected := fmt.Sprintf("1 or %d, one per channel", channels)
			if channels == 1 {
				expected = "1"
			}
			r.addf(doc[path].value.at, path, "found %d values, expected %s", n, expected)
		}
	}
	expect("data.mean", c.Data.Mean)
	expect("data.std", c.Data.Std)
}

// checkWarmup refuses a warm-up that never ends.
func checkWarmup(r *report, c *Config, doc document, bad map[string]bool) {
	const warmup = "optimizer.schedule.warmup_steps"
	if !doc.has(warmup) || bad[warmup] || bad["training.steps"] || c.Training.Steps == 0 {
		return
	}
	if w := c.Optimizer.Schedule.WarmupSteps; w > c.Training.Steps {
		r.addf(doc[warmup].value.at, warmup, "found %d, expected at most the %d training.steps", w, c.Training.Steps)
	}
}
