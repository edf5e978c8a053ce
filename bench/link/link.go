//go:build linux

// Command link is a line between two network interfaces, which it makes: what is sent into one comes out
// of the other later, no faster than the line. Moved into two network namespaces they are the
// network of two machines, without modules of the kernel such as netem:
//
//	link -delay 1ms -rate 1Gb wire0 wire1
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"dpsgd/internal/scale"

	"golang.org/x/sys/unix"
)

// longest is the largest packet; the interfaces are told.
const longest = 9000

// waiting is how many packets the line holds. It is more than what a connection sends ahead, so that
// none is lost.
const waiting = 1 << 14

func main() {
	delay := flag.Duration("delay", time.Millisecond, "from one end to the other")
	rate := flag.String("rate", "1Gb", "bits a second in each direction")
	flag.Parse()
	if err := join(flag.Args(), *delay, *rate); err != nil {
		fmt.Fprintln(os.Stderr, "link:", err)
		os.Exit(1)
	}
}

// join makes two interfaces and joins them until the process is ended.
func join(names []string, delay time.Duration, rate string) error {
	bits, err := scale.ParseRate(rate)
	if err != nil {
		return err
	}
	if len(names) != 2 {
		return fmt.Errorf("found %d names, expected those of two interfaces", len(names))
	}
	var ends [2]int
	for i, name := range names {
		if ends[i], err = open(name); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	failed := make(chan error)
	for i := range ends {
		go func() { failed <- carry(ends[i], ends[1-i], delay, bits) }()
	}
	return <-failed
}

// open makes an interface of packets.
func open(name string) (int, error) {
	f, err := unix.Open("/dev/net/tun", unix.O_RDWR, 0)
	if err != nil {
		return 0, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(f, unix.TUNSETIFF, request); err != nil {
		return 0, fmt.Errorf("interface %s: %w", name, err)
	}
	return f, nil
}

// packet is on its way.
type packet struct {
	content []byte
	due     time.Time
}

// carry moves packets in one direction.
func carry(from, to int, delay time.Duration, bits float64) error {
	line := make(chan packet, waiting)
	failed := make(chan error, 2)
	go func() { failed <- send(from, line, delay, bits) }()
	go func() { failed <- deliver(to, line) }()
	return <-failed
}

// send puts packets on the line, one after the other.
func send(from int, line chan<- packet, delay time.Duration, bits float64) error {
	runtime.LockOSThread()
	var free time.Time // when the line is
	for {
		content := make([]byte, longest)
		n, err := unix.Read(from, content)
		if err != nil {
			if err == unix.EINTR {
				continue
			}
			return fmt.Errorf("read: %w", err)
		}
		if now := time.Now(); free.Before(now) {
			free = now
		}
		free = free.Add(time.Duration(float64(8*n) / bits * 1e9))
		line <- packet{content[:n], free.Add(delay)}
	}
}

// deliver hands packets out when they are due. The runtime's timers are off by up to a millisecond;
// the system's are not.
func deliver(to int, line <-chan packet) error {
	runtime.LockOSThread()
	for p := range line {
		if wait := time.Until(p.due); wait > 0 {
			t := unix.NsecToTimespec(wait.Nanoseconds())
			unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
		}
		// An interface that is down, or taken away, takes nothing; senders send again.
		if _, err := unix.Write(to, p.content); err != nil && err != unix.EIO && err != unix.ENETDOWN {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}
