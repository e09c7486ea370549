package stdio

import "golang.org/x/sys/unix"

// look returns the parent and the name of a process (sysctl(3), KERN_PROC_PID).
func look(pid int) (parent int, name string, err error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, "", err
	}
	return int(p.Eproc.Ppid), unix.ByteSliceToString(p.Proc.P_comm[:]), nil
}
