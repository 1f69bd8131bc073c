//! What a command can see and do of its host, and its limits.

use std::fs;
use std::time::Duration;

use job_runner::outputs;
use job_runner::process::{Limits, Outcome};
use rustix::fd::AsFd;

use crate::harness::{Host, printed, run, succeed};

#[tokio::test]
async fn nothing_can_be_written_outside_tmp_output_and_metadata() {
    let script = "
        for d in / /usr /usr/bin /etc /dev /sys /kratix /kratix/input /home /root /var /run; do
            (: > $d/x) 2>/dev/null && echo wrote $d
            mkdir $d/x 2>/dev/null && echo made $d/x
        done
        (: > /kratix/input/object.yaml) 2>/dev/null && echo wrote the input
        (: > /etc/passwd) 2>/dev/null && echo wrote /etc/passwd
        (: > /etc/resolv.conf) 2>/dev/null && echo wrote /etc/resolv.conf
        (echo 1 > /proc/sys/kernel/panic) 2>/dev/null && echo wrote a sysctl
        for d in / /usr /kratix/input; do
            mount -o remount,rw,bind $d 2>/dev/null && echo remounted $d
            unshare -Urm mount -o remount,rw,bind $d 2>/dev/null && echo remounted $d as root
            unshare -Urm umount $d 2>/dev/null && echo unmounted $d
        done
        chroot / true 2>/dev/null && echo may chroot
        mknod /tmp/null c 1 3 2>/dev/null && echo made a device
        for d in /tmp /kratix/output /kratix/metadata; do : > $d/x && echo ok; done";
    assert_eq!(printed(script).await, "ok\nok\nok\n");
}

#[tokio::test]
async fn the_host_is_not_seen() {
    let host = Host::new();
    let script = "
        for d in /home /root /run /var /opt /srv /mnt /boot; do test -e $d && echo there is $d; done
        ls /sys
        ls -d /proc/[0-9]* | wc -l
        cat /proc/1/environ /proc/1/maps 2>/dev/null
        ls /proc/1/root /proc/1/cwd/ 2>/dev/null
        cat /etc/shadow 2>/dev/null
        id -u
        cat /proc/self/mountinfo";
    let (end, _) = succeed(host.job(script)).await;
    let (seen, mounts) = end.stdout.split_once("\n0\n").unwrap();
    let processes: u32 = seen.parse().expect(seen);
    assert!((2..=5).contains(&processes), "{processes}");
    for path in [host.directory.path(), &std::env::current_dir().unwrap()] {
        assert!(!mounts.contains(&*path.to_string_lossy()), "{mounts}");
    }
}

#[tokio::test]
async fn no_capability_and_no_way_to_one() {
    let status = printed("grep -E '^(Cap|NoNewPrivs)' /proc/self/status").await;
    for line in status.lines() {
        let (name, value) = line.split_once(":\t").unwrap();
        let expected = if name == "NoNewPrivs" { "1" } else { "0000000000000000" };
        // A process that sees itself as root gets its effective set back on exec, over its own namespace alone.
        if matches!(name, "CapInh" | "CapBnd" | "CapAmb" | "NoNewPrivs") {
            assert_eq!(value, expected, "{name}");
        }
    }
    assert_eq!(status.lines().count(), 6);
}

#[tokio::test]
async fn devices_names_and_shared_memory_work() {
    let script = "echo x > /dev/null; head -c 3 /dev/zero | wc -c; head -c 3 /dev/urandom | wc -c
        echo y | cat /dev/stdin; echo z > /dev/stdout; : > /dev/shm/x && echo shm; (echo > /dev/full) 2>/dev/null || echo full
        read line < /dev/stdin || echo no input";
    assert_eq!(printed(script).await, "3\n3\ny\nz\nshm\nfull\nno input\n");
    let resolv_conf = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    assert_eq!(printed("cat /etc/resolv.conf 2>/dev/null; true").await, resolv_conf);
}

#[tokio::test]
async fn the_network_is_the_hosts() {
    let ours = fs::read_link("/proc/self/ns/net").unwrap();
    assert_eq!(printed("readlink /proc/self/ns/net").await.trim_end(), ours.to_string_lossy());
    let host = Host::new();
    let running = tokio::spawn(succeed(host.waiting_job("")));
    host.call().await.answer().await;
    assert_eq!(running.await.unwrap().0.stdout, "told\n");
}

#[tokio::test]
async fn the_output_is_full_at_its_limit() {
    let host = Host::new();
    let mut job =
        host.job("head -c 3m /dev/zero > /kratix/output/a; head -c 3m /dev/zero > /kratix/output/b");
    job.limits.output_bytes = 4 << 20;
    let limits = job.limits.clone();
    let finished = run(job, 1).await.unwrap();
    assert_eq!(finished.report.outcome, Outcome::Failed);
    let stderr = &finished.report.containers[0].stderr;
    assert!(stderr.contains("No space left on device"), "{stderr}");
    let output = outputs::collect(finished.output.unwrap().as_fd(), &limits).unwrap();
    assert_eq!(output.files.values().map(Vec::len).sum::<usize>(), 4 << 20);
}

#[tokio::test]
async fn files_metadata_and_tmp_have_limits_of_their_own() {
    let full = async |limits: Limits, script: &str| {
        let host = Host::new();
        let mut job = host.job(script);
        job.limits = limits;
        let report = run(job, 1).await.unwrap().report;
        assert_eq!(report.outcome, Outcome::Succeeded, "{report:?}");
        assert!(report.containers[0].stderr.contains("No space left on device"), "{report:?}");
        report.containers[0].stdout.clone()
    };
    let default = Limits::default;
    let count = "n=0; while : > /kratix/output/$n; do n=$((n+1)); done; echo $n";
    assert_eq!(full(Limits { output_files: 10, ..default() }, count).await, "10\n");
    let overfill = |directory: &str| {
        format!("head -c 1m /dev/zero > {directory}/x; wc -c < {directory}/x; : > /kratix/output/y")
    };
    assert_eq!(
        full(Limits { metadata_bytes: 65536, ..default() }, &overfill("/kratix/metadata")).await,
        "65536\n"
    );
    assert_eq!(full(Limits { tmp_bytes: 65536, ..default() }, &overfill("/tmp")).await, "65536\n");
}

#[tokio::test]
async fn a_log_is_cut_at_its_limit() {
    let host = Host::new();
    let mut job = host.job("head -c 5000000 /dev/zero | tr '\\0' x; echo error >&2");
    job.limits.log_bytes = 1000;
    let (end, _) = succeed(job).await;
    assert_eq!((end.stdout, &*end.stderr, end.dropped), ("x".repeat(1000), "error\n", 4_999_000));
}

#[tokio::test]
async fn processes_are_limited_per_job() {
    let script = "exec 3<>/dev/tcp/127.0.0.1/$PORT; echo here >&3; read -u 3
        exec sh -c 'n=0; while sleep 1000 & do n=$((n+1)); echo $n; done'";
    let jobs = [0; 3].map(|_| {
        let host = Host::new();
        let mut job = host.job(script);
        job.limits.processes = 20;
        (host, tokio::spawn(run(job, 1)))
    });
    let mut calls = vec![];
    for (host, _) in &jobs {
        calls.push(host.call().await);
    }
    for call in &mut calls {
        call.answer().await;
    }
    for (_, job) in jobs {
        let report = job.await.unwrap().unwrap().report;
        assert_eq!(report.outcome, Outcome::Failed, "{report:?}");
        let end = &report.containers[0];
        assert!(end.stderr.contains("fork"), "{end:?}");
        let started: u32 = end.stdout.lines().last().unwrap().parse().unwrap();
        assert!((15..20).contains(&started), "{started}");
    }
}

#[tokio::test]
async fn a_fork_bomb_ends_at_the_wall() {
    let host = Host::new();
    let mut job = host
        .job("exec 3<>/dev/tcp/127.0.0.1/$PORT; echo here >&3; exec sh -c 'b() { b | b & }; b; sleep 1000'");
    job.limits = Limits { processes: 64, wall: Duration::from_secs(3), ..Limits::default() };
    let running = tokio::spawn(run(job, 1));
    let call = host.call().await;
    assert_eq!(running.await.unwrap().unwrap().report.outcome, Outcome::TimedOut);
    call.all_gone().await;
}

#[tokio::test]
async fn what_is_no_file_is_refused_in_an_output() {
    for (script, path, expected) in [
        ("ln -s /etc/passwd", "d/link", "symbolic link"),
        ("mkfifo", "d/pipe", "named pipe"),
        ("mkdir", "d/.git", "`.git`"),
        ("mkdir", "d/.Git", "`.git`"),
    ] {
        let host = Host::new();
        let job = host.job(&format!("mkdir /kratix/output/d; {script} /kratix/output/{path}"));
        let limits = job.limits.clone();
        let finished = run(job, 1).await.unwrap();
        assert_eq!(finished.report.outcome, Outcome::Succeeded, "{:?}", finished.report);
        let error = outputs::collect(finished.output.unwrap().as_fd(), &limits).unwrap_err().to_string();
        assert!(error.starts_with(path) && error.contains(expected), "{error}");
    }
}
