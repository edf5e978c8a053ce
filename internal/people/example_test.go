package people_test

import (
	"fmt"

	"dpsgd/internal/people"
)

// Whose each example is makes persons of examples.
func ExampleOf() {
	owners := []string{"ann", "bob", "ann", "cem", "ann"}
	fmt.Println(people.Of(owners, 0, 1))
	fmt.Println(people.Count(owners), "persons")
	// Output:
	// [[0 2 4] [1] [3]]
	// 3 persons
}
