package vectors_test

import (
	"fmt"
	"log"
	"strings"

	"dpsgd/data/vectors"
)

func ExampleReader() {
	file := strings.NewReader("name,\"weight, kg\"\nAda,61.5\nBob,?\n")
	r, err := vectors.NewRecordReader("people.csv", file)
	if err != nil {
		log.Fatal(err)
	}
	weight, err := r.Find("weight, kg")
	if err != nil {
		log.Fatal(err)
	}
	_, err = r.Each(func(record []string) error {
		v, err := r.Number(record, weight)
		if err == nil {
			fmt.Println(v)
		}
		return err
	})
	fmt.Println(err)
	// Output:
	// 61.5
	// people.csv:3:5: column "weight, kg": found text that is not a number, expected a finite decimal number such as 1234.5
}
