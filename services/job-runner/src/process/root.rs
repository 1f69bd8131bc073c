//! The file system that a container sees, built on the stage and then made the root.

use std::collections::VecDeque;
use std::ffi::{CStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use libc::{MOUNT_ATTR_NODEV, MOUNT_ATTR_NOSUID, MOUNT_ATTR_RDONLY};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, unmount};
use rustix::process::{chdir, pivot_root};

use super::failure::{Failure, at};
use super::job::{Container, Limits};
use super::place::{mount_tmpfs, mounted, rootfs, scripts, staged};
use super::sys::restrict_mount;
use crate::images::Resolved;

/// Where a command finds the directory of `scripts:DIR`, first in its `PATH`.
pub const SCRIPTS: &str = "/kratix-scripts";
const READ_ONLY: u64 = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
const HOST_DIRECTORIES: [&str; 8] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc"];
/// Ours, whatever an unpacked image has there.
const OWN_DIRECTORIES: [&str; 6] = ["proc", "dev", "tmp", "sys", "kratix", "kratix-scripts"];
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("shm", "/tmp"),
];

/// Builds the root of the container with this index, and enters it.
pub(super) fn enter(
    container: &Container,
    index: usize,
    limits: &Limits,
    resolv_conf: Option<&str>,
) -> Result<(), Failure> {
    let root = staged("root");
    mount_tmpfs(&root, "mode=755,size=1m,nr_inodes=4k", MountFlags::empty())?;
    for name in ["proc", "dev", "tmp", "sys", "kratix"] {
        at(name, fs::create_dir(root.join(name)))?;
    }
    match &container.image {
        Resolved::Rootfs(_) => bind_system(&root, &rootfs(index), |_| true)?,
        Resolved::Host | Resolved::Scripts(_) => {
            bind_system(&root, Path::new("/"), |name| HOST_DIRECTORIES.contains(&name))?;
        }
    }
    mount_proc(&root.join("proc"))?;
    make_devices(&root.join("dev"))?;
    mount_tmpfs(
        &root.join("tmp"),
        &format!("mode=1777,size={}", limits.tmp_bytes.max(1)),
        MountFlags::empty(),
    )?;
    make_kratix(&root.join("kratix"))?;
    if let Resolved::Scripts(_) = container.image {
        let target = root.join(SCRIPTS.trim_start_matches('/'));
        at(SCRIPTS, fs::create_dir(&target))?;
        bind_read_only(&scripts(index), &target)?;
    }
    for (n, mount) in container.mounts.iter().enumerate() {
        let target = make_mount_point(&root, &mount.target)?;
        bind_read_only(&mounted(index, n), &target)?;
    }

    at("chdir", chdir(&root))?;
    at("pivot_root", pivot_root(".", "."))?; // the old root now lies on top of the new one
    at("old root", unmount(".", UnmountFlags::DETACH))?;
    at("chdir", chdir("/"))?;
    if let Some(text) = resolv_conf {
        at("/etc/resolv.conf", place_resolv_conf(text))?;
    }
    at("/", restrict_mount(Path::new("/"), MOUNT_ATTR_RDONLY, false))
}

fn bind_read_only(source: &Path, target: &Path) -> Result<(), Failure> {
    let what = format!("bind {} on {}", source.display(), target.display());
    at(&what, mount_bind_recursive(source, target))?;
    at(&what, restrict_mount(target, READ_ONLY, true))
}

/// The top of the host's tree, or of an unpacked image's: links are copied, directories and files bound.
fn bind_system(root: &Path, from: &Path, wanted: impl Fn(&str) -> bool) -> Result<(), Failure> {
    for entry in at(from.display(), fs::read_dir(from))? {
        let entry = at(from.display(), entry)?;
        let name = entry.file_name();
        let known = name.to_str().is_some_and(|name| !OWN_DIRECTORIES.contains(&name) && wanted(name));
        if !known {
            continue;
        }
        let (source, target) = (entry.path(), root.join(&name));
        let kind = at(source.display(), entry.file_type())?;
        if kind.is_symlink() {
            let link = at(source.display(), fs::read_link(&source))?;
            at(source.display(), symlink(link, &target))?;
        } else if kind.is_dir() {
            at(source.display(), fs::create_dir(&target))?;
            bind_read_only(&source, &target)?;
        } else if kind.is_file() {
            at(source.display(), fs::File::create(&target))?;
            bind_read_only(&source, &target)?;
        }
    }
    Ok(())
}

/// Before the old `/proc` goes: the kernel lets a user namespace mount one only while a whole other one is visible.
fn mount_proc(target: &Path) -> Result<(), Failure> {
    let guarded = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    match mount("proc", target, "proc", guarded, None::<&CStr>) {
        Err(e @ Errno::PERM) => Err(Failure::MaskedProc(e.into())),
        done => at("mount /proc", done),
    }
}

fn make_devices(dev: &Path) -> Result<(), Failure> {
    mount_tmpfs(dev, "mode=755,size=64k", MountFlags::NOEXEC)?;
    for name in DEVICES {
        let node = dev.join(name);
        at(node.display(), fs::File::create(&node))?;
        at(node.display(), mount_bind(Path::new("/dev").join(name), &node))?;
    }
    for (link, target) in DEVICE_LINKS {
        at(link, symlink(target, dev.join(link)))?;
    }
    at("/dev", restrict_mount(dev, MOUNT_ATTR_RDONLY, false))
}

fn make_kratix(kratix: &Path) -> Result<(), Failure> {
    for name in ["input", "output", "metadata"] {
        at(name, fs::create_dir(kratix.join(name)))?;
    }
    bind_read_only(&staged("input"), &kratix.join("input"))?;
    for name in ["output", "metadata"] {
        at(name, mount_bind(staged(name), kratix.join(name)))?;
    }
    Ok(())
}

/// Makes the directories of `target` below `root`, through no link; those of the host and the image are read-only.
fn make_mount_point(root: &Path, target: &Path) -> Result<PathBuf, Failure> {
    let invalid = |why| Failure::Invalid(format!("mount at {}: {why}", target.display()));
    let mut path = root.to_owned();
    for part in target.components() {
        match part {
            Component::RootDir => continue,
            Component::Normal(name) => path.push(name),
            _ => return Err(invalid("not an absolute path without `..`")),
        }
        match fs::symlink_metadata(&path) {
            Ok(known) if known.is_dir() => {}
            Ok(_) => return Err(invalid("a part of the path is not a directory")),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                at(format!("mount at {}", target.display()), fs::create_dir(&path))?;
            }
            Err(e) => return at(format!("mount at {}", target.display()), Err(e)),
        }
    }
    if path == root { Err(invalid("not below the root")) } else { Ok(path) }
}

/// Shows `text` as `/etc/resolv.conf`, which may be a link out of `/etc` (to `/run/systemd/...`): then its target is
/// made in our own root. An image whose read-only `/etc` has no place for the file does without.
fn place_resolv_conf(text: &str) -> io::Result<()> {
    let target = without_links(Path::new("/etc/resolv.conf"));
    if target.exists() {
        let content = Path::new("/.resolv.conf");
        fs::write(content, text)?;
        mount_bind(content, &target)?;
        return restrict_mount(&target, READ_ONLY, false);
    }
    let made =
        fs::create_dir_all(target.parent().unwrap_or(Path::new("/"))).and_then(|()| fs::write(&target, text));
    match made {
        Err(e) if e.kind() == io::ErrorKind::ReadOnlyFilesystem => Ok(()),
        made => made,
    }
}

/// Follows every link of an absolute path, also where its target is missing.
fn without_links(path: &Path) -> PathBuf {
    let mut left: VecDeque<OsString> = path.iter().map(Into::into).collect();
    let mut done = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part); // an absolute part starts anew
        match fs::read_link(&next) {
            Ok(link) if links < 40 => {
                links += 1;
                for part in link.iter().rev() {
                    left.push_front(part.into());
                }
            }
            Ok(_) | Err(_) => done = next,
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_to_where_nothing_is() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().canonicalize().unwrap().join(name);
        fs::create_dir(at("etc")).unwrap();
        symlink("../run", at("etc/run")).unwrap();
        symlink(at("etc/run/stub.conf"), at("etc/resolv.conf")).unwrap();
        assert_eq!(without_links(&at("etc/resolv.conf")), at("run/stub.conf"));
        symlink("loop", at("loop")).unwrap();
        assert_eq!(without_links(&at("loop")), at("loop"), "a loop ends");
        assert_eq!(without_links(&at("etc/./../other")), at("other"));
    }

    #[test]
    fn mount_points_go_through_no_link_and_not_out() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        symlink("/tmp", root.join("link")).unwrap();
        assert_eq!(make_mount_point(root, Path::new("/a/b")).unwrap(), root.join("a/b"));
        assert!(root.join("a/b").is_dir());
        for target in ["/", "/../x", "/a/../b", "x", "/link/x"] {
            assert!(make_mount_point(root, Path::new(target)).is_err() || target == "x", "{target}");
        }
    }
}
