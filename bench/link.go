//go:build linux

// Command bench makes two network interfaces and the line between them: what is sent into one comes
// out of the other after a delay, no faster than the rate. Moved into two network namespaces they
// are the network of two machines, without modules of the kernel such as netem:
//
//	bench -delay 1ms -rate 1Gb wire0 wire1
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"dpsgd/internal/speed"

	"golang.org/x/sys/unix"
)

// longest is the size of the largest packet, and the MTU that bench/ranks.py gives the interfaces.
const longest = 9000

func main() {
	delay := flag.Duration("delay", time.Millisecond, "from one end to the other")
	rate := flag.String("rate", "1Gb", "bits a second in each direction")
	flag.Parse()
	if err := join(flag.Args(), *delay, *rate); err != nil {
		fmt.Fprintln(os.Stderr, "link:", err)
		os.Exit(1)
	}
}

// join makes two interfaces of these names and carries packets between them until that fails.
func join(names []string, delay time.Duration, rate string) error {
	bits, err := speed.ParseRate(rate)
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

// open makes a TUN interface called name, which carries IP packets, and returns its descriptor.
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

// packet is a packet on the line, which comes out when it is due.
type packet struct {
	content []byte
	due     time.Time
}

// carry moves packets from one interface to the other, at bits a second and each after delay. One
// thread waits, reads and writes: on a fast line, waking another takes longer than a packet.
func carry(from, to int, delay time.Duration, bits float64) error {
	runtime.LockOSThread()
	if err := unix.SetNonblock(from, true); err != nil {
		return err
	}
	var line []packet  // on their way
	var spare [][]byte // the memory of packets that have arrived
	var free time.Time // when the next packet may enter
	for {
		if err := await(from, line); err != nil {
			return err
		}
		for {
			if len(spare) == 0 {
				spare = append(spare, make([]byte, longest))
			}
			content := spare[len(spare)-1]
			n, err := unix.Read(from, content)
			if err == unix.EAGAIN || err == unix.EINTR {
				break
			}
			if err != nil {
				return fmt.Errorf("read: %w", err)
			}
			spare = spare[:len(spare)-1]
			if now := time.Now(); free.Before(now) {
				free = now
			}
			free = free.Add(time.Duration(float64(8*n) / bits * 1e9))
			line = append(line, packet{content[:n], free.Add(delay)})
		}
		arrived := 0
		for now := time.Now(); arrived < len(line) && !line[arrived].due.After(now); arrived++ {
			content := line[arrived].content
			// An interface that is down, or taken away, takes nothing; senders send again.
			if _, err := unix.Write(to, content); err != nil && err != unix.EIO && err != unix.ENETDOWN {
				return fmt.Errorf("write: %w", err)
			}
			spare = append(spare, content[:longest])
		}
		line = slices.Delete(line, 0, arrived)
	}
}

// await waits until a packet can be read from the interface from, or until the first one on the
// line is due. The runtime's timers are off by up to a millisecond; the system's are not.
func await(from int, line []packet) error {
	var until *unix.Timespec
	if len(line) > 0 {
		t := unix.NsecToTimespec(max(0, time.Until(line[0].due).Nanoseconds()))
		until = &t
	}
	_, err := unix.Ppoll([]unix.PollFd{{Fd: int32(from), Events: unix.POLLIN}}, until, nil)
	if err == unix.EINTR {
		err = nil
	}
	return err
}
