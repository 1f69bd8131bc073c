//! A container's first process: enters the root, starts the command, and reaps until that ends.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::fchown;
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getegid, geteuid,
    set_dumpable_behavior, set_parent_process_death_signal, setrlimit, setsid, wait,
};
use rustix::thread::{
    CapabilitySet, Gid, Uid, remove_capability_from_bounding_set, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

use super::failure::{Failure, at};
use super::job::{Container, Limits};
use super::place::{Place, new_user_namespace};
use super::root::{self, SCRIPTS};
use super::sys::before_exec;
use crate::images::Resolved;

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs to the end of the command. In namespaces this process is pid 1: its own end makes the kernel kill all others.
pub(super) fn run(
    container: &Container,
    index: usize,
    place: &Place,
    limits: &Limits,
    status: &OwnedFd,
    stdio: (OwnedFd, OwnedFd),
) -> Result<WaitStatus, Failure> {
    die_with_supervisor(status)?;
    if let Place::Namespaces { resolv_conf, .. } = place {
        at("dumpable", set_dumpable_behavior(DumpableBehavior::NotDumpable))?; // closes /proc/1 to the command
        root::enter(container, index, limits, resolv_conf.as_deref())?;
    }
    let command = start(container, place, limits, stdio)?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == command => {
                return Ok(status);
            }
            Ok(_) | Err(Errno::INTR) => {} // an orphan, reaped
            Err(e) => return at("wait", Err(e)),
        }
    }
}

/// The death signal follows the parent's *thread*; a supervisor has one. If it died before, nobody reads `status`.
fn die_with_supervisor(status: &OwnedFd) -> Result<(), Failure> {
    at("death signal", set_parent_process_death_signal(Some(Signal::KILL)))?;
    let mut reader = [PollFd::new(status, PollFlags::OUT)];
    at("poll", poll(&mut reader, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })))?;
    if reader[0].revents().contains(PollFlags::ERR) {
        return Err(Failure::Invalid("the supervisor is gone".into()));
    }
    Ok(())
}

fn start(
    container: &Container,
    place: &Place,
    limits: &Limits,
    stdio: (OwnedFd, OwnedFd),
) -> Result<u32, Failure> {
    let scripts = match (&container.image, place) {
        (Resolved::Scripts(_), Place::Namespaces { .. }) => Some(Path::new(SCRIPTS)),
        (Resolved::Scripts(directory), Place::Directory(_)) => Some(&**directory),
        (Resolved::Host | Resolved::Rootfs(_), _) => None,
    };
    let argv = container.image.command_line(&container.name, &container.command, &container.args, scripts)?;
    let (program, arguments) = argv.split_first().ok_or_else(|| Failure::Invalid("empty command".into()))?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(environment(container, place, scripts));
    command.current_dir(&container.working_dir);
    match *place {
        Place::Namespaces { outside, .. } => {
            for stream in [&stdio.0, &stdio.1] {
                at("log pipe", fchown(stream, outside.map(Uid::from_raw), None))?; // or /dev/stdout cannot be opened
            }
            let (inside, processes) = (limits.uid, limits.processes);
            before_exec(&mut command, move || confine(outside, inside, processes));
        }
        Place::Directory(_) => before_exec(&mut command, || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(setsid().map(drop)?)
        }),
    }
    match command.stdin(Stdio::null()).stdout(stdio.0).stderr(stdio.1).spawn() {
        Ok(child) => Ok(child.id()),
        // What `exec` answers for a file that may not be run is EACCES: these two come from `confine`.
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::PERM | Errno::NOSPC)) => {
            Err(Failure::NoUserNamespaces(e))
        }
        Err(e) => at(format!("container {}: {program}", container.name), Err(e)),
    }
}

/// The variables given, and what every image sets.
fn environment(container: &Container, place: &Place, scripts: Option<&Path>) -> Vec<(String, String)> {
    let given = |name| container.env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| &**value);
    let path = given("PATH").unwrap_or(DEFAULT_PATH);
    let path = match scripts {
        Some(scripts) => format!("{}:{path}", scripts.display()),
        None => path.to_owned(),
    };
    let mut all = vec![("HOME".to_owned(), "/tmp".to_owned())];
    all.extend(container.env.iter().cloned());
    all.push(("PATH".into(), path));
    if let Place::Directory(directory) = place {
        all.push(("MILLRACE_KRATIX_DIR".into(), directory.display().to_string()));
    }
    all
}

/// Between fork and exec: no host root, no capability, no way to get one, a process limit of its own.
///
/// The kernel holds `RLIMIT_NPROC` against the processes in the user namespace, and also against all that the owner of
/// that namespace has in the one around it. So a root runner's jobs, which are all one user outside, need one around
/// each; an ordinary user's job is in one already.
fn confine(outside: Option<u32>, inside: u32, processes: u64) -> io::Result<()> {
    setsid()?;
    if let Some(id) = outside {
        let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    set_dumpable_behavior(DumpableBehavior::Dumpable)?; // or /proc/self/uid_map belongs to root
    if outside.is_some() {
        new_user_namespace(geteuid().as_raw(), getegid().as_raw(), 0)?;
    }
    let limit = |n| Rlimit { current: Some(n), maximum: Some(n) };
    setrlimit(Resource::Nproc, limit(processes))?;
    setrlimit(Resource::Core, limit(0))?;
    // This one must not own the mounts: then a read-only bind would be a mere request.
    new_user_namespace(geteuid().as_raw(), getegid().as_raw(), inside)?;
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) | Err(Errno::INVAL) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(set_no_new_privs(true)?)
}
