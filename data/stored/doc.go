// Package stored has pictures where they lie: in the class folders of a person's own, or in tar
// shards as WebDataset makes them. They are found by listing, which shows what is wrong with names and
// classes, and each is read and decoded whenever somebody asks for it, by its number.
package stored
