package main

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// machine says what the figures were measured on. Texts are "" and numbers 0
// where the system does not tell them.
type machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	MemoryMB   int    `json:"memory_mb"`
	OS         string `json:"os"`
	Kernel     string `json:"kernel"`
	Go         string `json:"go"`
	LoadBefore string `json:"load_before"` // 1, 5 and 15 minutes: other work makes every figure worse
	LoadAfter  string `json:"load_after"`
}

func thisMachine() machine {
	return machine{
		CPU: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), MemoryMB: kilobytes(field("/proc/meminfo", "MemTotal")) / 1024,
		OS: runtime.GOOS + "/" + runtime.GOARCH, Kernel: line("/proc/sys/kernel/osrelease"), Go: runtime.Version(), LoadBefore: load(),
	}
}

func load() string {
	words := strings.Fields(line("/proc/loadavg"))
	return strings.Join(words[:min(3, len(words))], " ")
}

// line is the first line of a file, "" where there is none.
func line(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "" // this system has no such file
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return first
}

// field is the value of a "name: value" line.
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return "" // this system has no such file
	}
	defer f.Close() //nolint:errcheck // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// kilobytes reads a value such as "2048 kB".
func kilobytes(value string) int {
	n, err := strconv.Atoi(strings.TrimSuffix(value, " kB"))
	if err != nil {
		return 0 // not told
	}
	return n
}

// memoryMB is the resident memory of a process, and the most it ever had; both
// are 0 where the system does not tell.
func memoryMB(pid int) (now, peak float64) {
	status := "/proc/" + strconv.Itoa(pid) + "/status"
	return float64(kilobytes(field(status, "VmRSS"))) / 1024, float64(kilobytes(field(status, "VmHWM"))) / 1024
}
