// Package configure holds the commands that write, list and describe configurations.
package configure
