//! Where a job's containers run: the supervisor's own namespaces with the job's directories staged in them, or a plain
//! directory of the host.

use std::ffi::CString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change};
use rustix::process::{getegid, geteuid, getpid, set_child_subreaper};
use rustix::thread::UnshareFlags;

use super::failure::{Failure, at};
use super::job::{Job, Limits};
use super::sys::unshare;
use super::wire::{Directories, Order};
use crate::images::Resolved;

/// In a job's mount namespace, sources and roots are staged on a tmpfs over this directory: it exists on every Linux,
/// and no job needs what lies in it.
const STAGE: &str = "/sys";
/// Who a root runner's commands are outside their user namespace.
const NOBODY: u32 = 65534;

pub(super) enum Place {
    Namespaces {
        /// Who commands are outside, when it must be another than the runner.
        outside: Option<u32>,
        resolv_conf: Option<String>,
    },
    /// Holds `input`, `output` and `metadata`.
    Directory(PathBuf),
}

impl Place {
    /// Of namespaces, or of the directory that the runner has made for a job without any.
    pub(super) fn make(order: &Order) -> Result<Self, Failure> {
        match &order.directory {
            None => enter_namespaces(&order.job),
            Some(directory) => plain_directory(&order.job, directory),
        }
    }

    /// Opens what commands see as `/kratix/output` and `/kratix/metadata`.
    pub(super) fn open_results(&self) -> Result<Directories, Failure> {
        let open = |name: &str| -> Result<OwnedFd, Failure> {
            let path = match self {
                Self::Namespaces { .. } => staged(name),
                Self::Directory(directory) => directory.join(name),
            };
            at(path.display(), open(&path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()))
        };
        Ok([open("output")?, open("metadata")?])
    }
}

/// A name on the stage: `root`, `input`, `output`, `metadata`, and per container [`rootfs`], [`scripts`], [`mounted`].
pub(super) fn staged(name: &str) -> PathBuf {
    Path::new(STAGE).join(name)
}

pub(super) fn rootfs(container: usize) -> PathBuf {
    staged(&format!("rootfs-{container}"))
}

pub(super) fn scripts(container: usize) -> PathBuf {
    staged(&format!("scripts-{container}"))
}

pub(super) fn mounted(container: usize, index: usize) -> PathBuf {
    staged(&format!("mount-{container}-{index}"))
}

pub(super) fn mount_tmpfs(target: &Path, options: &str, flags: MountFlags) -> Result<(), Failure> {
    let what = format!("tmpfs on {}", target.display());
    let options = at(&what, CString::new(options))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | flags;
    at(&what, mount("tmpfs", target, "tmpfs", flags, options.as_c_str()))
}

/// Root makes the job's mount namespace directly; anyone else becomes root of a user namespace first. From then on both
/// do the same.
fn enter_namespaces(job: &Job) -> Result<Place, Failure> {
    let resolv_conf = fs::read_to_string("/etc/resolv.conf").ok();
    let outside = if may_become_nobody() && at("mount namespace", try_unshare_mounts())? {
        Some(NOBODY)
    } else {
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        new_user_namespace(uid, gid, 0).map_err(Failure::NoUserNamespaces)?;
        // Where AppArmor restricts them, a new user namespace can be had and is of no use.
        unshare(UnshareFlags::NEWNS).map_err(Failure::NoUserNamespaces)?;
        None
    };
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    at("private mounts", mount_change("/", private))?;
    stage(job, outside)?;
    Ok(Place::Namespaces { outside, resolv_conf })
}

fn try_unshare_mounts() -> io::Result<bool> {
    match unshare(UnshareFlags::NEWNS) {
        Err(e) if Errno::from_io_error(&e) == Some(Errno::PERM) => Ok(false),
        done => done.map(|()| true),
    }
}

/// Only root may, and not even that where the user namespace we are in knows no such user.
fn may_become_nobody() -> bool {
    let known = |map: &str| {
        fs::read_to_string(map).is_ok_and(|map| {
            map.lines().any(|line| {
                let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
                let (first, count) = (numbers.next(), numbers.nth(1));
                matches!((first, count), (Some(Ok(first)), Some(Ok(count)))
                    if (first..first.saturating_add(count)).contains(&NOBODY))
            })
        })
    };
    geteuid().is_root() && known("/proc/self/uid_map") && known("/proc/self/gid_map")
}

/// The new namespace knows one user and one group: this one, under the id `inside`.
pub(super) fn new_user_namespace(uid: u32, gid: u32, inside: u32) -> io::Result<()> {
    unshare(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{inside} {uid} 1"))?;
    fs::write("/proc/self/gid_map", format!("{inside} {gid} 1"))
}

fn stage(job: &Job, outside: Option<u32>) -> Result<(), Failure> {
    let Limits { output_bytes, output_files, metadata_bytes, .. } = job.limits;
    let size = job.input.len() + (1 << 20);
    mount_tmpfs(Path::new(STAGE), &format!("mode=755,size={size}"), MountFlags::empty())?;
    make_directory(&staged("root"))?;
    write_input(&staged("input"), job)?;
    let owner = outside.map(|id| format!(",uid={id},gid={id}")).unwrap_or_default();
    // Of both numbers, 0 would mean "no limit". The directory itself counts as a file.
    for (name, bytes, files) in [("output", output_bytes, output_files), ("metadata", metadata_bytes, 1024)] {
        let options = format!("mode=755,size={},nr_inodes={}{owner}", bytes.max(1), files.saturating_add(1));
        make_directory(&staged(name))?;
        mount_tmpfs(&staged(name), &options, MountFlags::empty())?;
    }
    for (index, container) in job.containers.iter().enumerate() {
        match &container.image {
            Resolved::Host => {}
            Resolved::Rootfs(source) => bind(source, &rootfs(index))?,
            Resolved::Scripts(source) => bind(source, &scripts(index))?,
        }
        for (n, mount) in container.mounts.iter().enumerate() {
            bind(&mount.source, &mounted(index, n))?;
        }
    }
    Ok(())
}

fn bind(source: &Path, target: &Path) -> Result<(), Failure> {
    make_directory(target)?;
    at(source.display(), mount_bind_recursive(source, target))
}

fn make_directory(path: &Path) -> Result<(), Failure> {
    at(path.display(), fs::create_dir(path))
}

fn write_input(directory: &Path, job: &Job) -> Result<(), Failure> {
    make_directory(directory)?;
    let file = directory.join("object.yaml");
    at(file.display(), fs::write(&file, &job.input))
}

fn plain_directory(job: &Job, directory: &Path) -> Result<Place, Failure> {
    for container in &job.containers {
        if matches!(container.image, Resolved::Rootfs(_)) || !container.mounts.is_empty() {
            let name = &container.name;
            let why =
                format!("container {name}: an unpacked image or a mount needs namespaces (--isolation)");
            return Err(Failure::Invalid(why));
        }
    }
    at("orphans", set_child_subreaper(Some(getpid())))?; // see `kill_descendants` of the supervisor
    write_input(&directory.join("input"), job)?;
    make_directory(&directory.join("output"))?;
    make_directory(&directory.join("metadata"))?;
    Ok(Place::Directory(directory.into()))
}
