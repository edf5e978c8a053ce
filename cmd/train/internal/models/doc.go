// Package models holds the commands that use the model of a run, and take weights for one: predict,
// serve, export, card and import.
package models
