package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dpsgd/configs"
	"dpsgd/internal/speed"
	"dpsgd/internal/tiny"
	"dpsgd/internal/train"
)

// The networks that the peers build have the sizes of those that the program builds.
func TestNetworksOfPeers(t *testing.T) {
	source := tiny.Must(os.ReadFile("networks.py"))(t)
	// Lines such as `    "mlp128": (mlp(128), GREY, 101_770),`.
	rows := regexp.MustCompile(`(?m)^    "([a-z0-9-]+)": \(.*, (GREY|COLOUR), ([0-9_]+)\),$`).FindAllStringSubmatch(string(source), -1)
	if len(rows) != 9 {
		t.Fatalf("found %d networks in networks.py, expected 9", len(rows))
	}
	for _, row := range rows {
		file := row[1] + ".yaml"
		c, err := configs.Load("./"+file, nil)
		if _, missing := os.Stat(file); missing != nil {
			c, err = speed.Configuration(row[1], 1)
		}
		tiny.Check(t, err)
		d := tiny.Must(train.Describe(c, 1000))(t)
		channels := map[string]int{"GREY": 1, "COLOUR": 3}[row[2]]
		if parameters, err := strconv.Atoi(strings.ReplaceAll(row[3], "_", "")); err != nil || parameters != d.Parameters || channels != d.Input[2] {
			t.Errorf("%s has %s parameters and %d channels for peers, here it has %d and %d", row[1], row[3], channels, d.Parameters, d.Input[2])
		}
	}
}
