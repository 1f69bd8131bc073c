//! The system calls without a safe interface. Everything unsafe of this crate is here.
#![expect(
    unsafe_code,
    reason = "clone3, mount_setattr, close_range, unshare and pre_exec have no safe interface"
)]

use std::io;
use std::process::Command;

use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::thread::UnshareFlags;

/// The two sides of a fork.
pub(super) enum Forked {
    Child,
    /// With a descriptor of the child process.
    Parent(OwnedFd),
}

/// `fork()`, if asked into new pid, mount and ipc namespaces.
///
/// Only for a process of one thread, which a supervisor and its children are from `exec` on (a supervisor checks it):
/// the child is then a complete copy and may allocate, lock and return, unlike after a fork of a program with threads.
pub(super) fn fork(namespaces: bool) -> io::Result<Forked> {
    let namespaces = if namespaces { libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC } else { 0 };
    let mut pidfd: libc::c_int = -1;
    // SAFETY: an all-zero clone_args is valid (no stack: the child continues on a copy of ours, as after fork), the
    // size is the struct's own, and `pidfd` outlives the call.
    let pid = unsafe {
        let mut args: libc::clone_args = std::mem::zeroed();
        args.flags = u64::from((namespaces | libc::CLONE_PIDFD).cast_unsigned());
        args.pidfd = (&raw mut pidfd).expose_provenance() as u64;
        args.exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
        libc::syscall(libc::SYS_clone3, &raw mut args, size_of::<libc::clone_args>())
    };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        // SAFETY: the kernel has just made this descriptor for us; nobody else owns it.
        _ => Ok(Forked::Parent(unsafe { OwnedFd::from_raw_fd(pidfd) })),
    }
}

/// Moves this process, not its children, into new namespaces.
pub(super) fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    debug_assert!(!namespaces.contains(UnshareFlags::FILES));
    // SAFETY: `unshare` is only dangerous with CLONE_FILES, which would split the descriptor table.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }.map_err(Into::into)
}

/// Lets `confine` run between fork and exec of `command`. Only for a process of one thread, as with [`fork`].
pub(super) fn before_exec(
    command: &mut Command,
    confine: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    use std::os::unix::process::CommandExt;
    // SAFETY: the forked child of a process of one thread may do anything that the process itself may.
    unsafe { command.pre_exec(confine) };
}

/// Adds mount attributes (`MOUNT_ATTR_*`) to one mount, or to all mounts below it too. Unlike a remount it leaves every
/// other flag alone, so it works on mounts whose flags a user namespace has locked.
pub(super) fn restrict_mount(path: &std::path::Path, attributes: u64, recursive: bool) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    let flags = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: a zeroed mount_attr is valid, `path` is NUL-terminated, both outlive the call.
    let done = unsafe {
        let mut attr: libc::mount_attr = std::mem::zeroed();
        attr.attr_set = attributes;
        let size = size_of_val(&attr);
        libc::syscall(libc::SYS_mount_setattr, libc::AT_FDCWD, path.as_ptr(), flags, &raw mut attr, size)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closes every descriptor from 3 up: what a careless library of the runner left without `CLOEXEC` must not reach a
/// command. Called once, first thing in a supervisor, before anything was opened.
pub(super) fn close_inherited() -> io::Result<()> {
    // SAFETY: no Rust object owns a descriptor above 2 yet.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets a descriptor survive `exec`.
pub(super) fn keep_over_exec(fd: BorrowedFd) -> io::Result<()> {
    debug_assert!(fd.as_raw_fd() > 2);
    rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty()).map_err(Into::into)
}
