// Package pictures finds a person's pictures, in a folder for each class or in tar shards as
// WebDataset makes them, and reads each picture by its number when it is asked for. Listing refuses
// wrong names and classes, and counts other files beside the pictures. Reading decodes one file of
// a known format into the bytes of a declared size.
package pictures
