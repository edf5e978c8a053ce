// Package pictures finds pictures in the class folders of a person, or in tar shards as WebDataset makes them, and
// reads each when it is asked for, by its number. Listing shows what is wrong with names and classes. It knows
// which formats there are, what else lies beside pictures, and how to read
// one file as the bytes of a declared size.
package pictures
