//! What goes wrong: refusals, conflicts, a damaged mirror, commands that do not end.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use state_store_writer::store::{Change, Committed, Conflict, Error, Obstacle, StateStore};
use tokio::sync::oneshot;

use crate::site::{FILE, LINK, Site, executable, message, prepare, put, remove, remove_file, replace, write};

#[tokio::test]
async fn a_hook_that_declines_is_quoted() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    site.hook("pre-receive", "echo 'not on Fridays' >&2; exit 1")?;
    let (expected, before) = (store.snapshot().await?, site.tip()?);
    let error = store.commit(&expected, &[put("a", "1")], &message(), false).await.expect_err("refused");
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("store-a") && text.contains("hook declined); not on Fridays"), "{text}");
    assert_eq!(site.tip()?, before);
    Ok(())
}

#[tokio::test]
async fn a_receiving_side_that_dies_gave_no_answer() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    site.hook("pre-receive", r#"kill -9 "$PPID""#)?;
    let (expected, before) = (store.snapshot().await?, site.tip()?);
    let error = store.commit(&expected, &[put("a", "1")], &message(), false).await.expect_err("no answer");
    assert!(matches!(error, Error::Unanswered { .. }), "{error:?}");
    assert_eq!(site.tip()?, before);
    std::fs::remove_file(site.repository().join("hooks/pre-receive"))?;
    write(&mut store, &[put("a", "1")]).await?;
    Ok(())
}

async fn conflicts(site: &Site, changes: &[Change]) -> Result<Vec<Conflict>> {
    let mut store = site.store("a")?;
    let (expected, before) = (store.snapshot().await?, site.tip()?);
    let result = store.commit(&expected, changes, &message(), false).await;
    assert_eq!(site.tip()?, before);
    match result {
        Err(Error::Conflicts { conflicts, .. }) => Ok(conflicts),
        other => bail!("{other:?}"),
    }
}

fn conflict(change: usize, path: &str, obstacle: Obstacle) -> Conflict {
    Conflict { change, path: path.to_owned(), obstacle }
}

#[tokio::test]
async fn foreign_files_in_the_way_are_named_and_nothing_is_written() -> Result<()> {
    let site = Site::bare()?;
    site.foreign(&[(FILE, "w/file", "1"), (FILE, "w/directory/x", "1"), (LINK, "w/link", "../elsewhere")])?;
    let changes = [
        replace("w/file/deep/er", &[("x", "2")]),
        put("fine", "2"),
        replace("w/file", &[("x", "2")]),
        put("w/directory", "2"),
        put("w/link", "2"),
        replace("w/link", &[("x", "2")]),
        replace("w/own", &[("a", "2"), ("a/b", "2")]),
        put("fine/x", "2"),
    ];
    let expected = [
        conflict(0, "w/file", Obstacle::File),
        conflict(2, "w/file", Obstacle::File),
        conflict(3, "w/directory", Obstacle::Directory),
        conflict(4, "w/link", Obstacle::Link),
        conflict(5, "w/link", Obstacle::File),
        conflict(6, "w/own/a", Obstacle::File),
        conflict(7, "fine", Obstacle::File),
    ];
    assert_eq!(conflicts(&site, &changes).await?, expected);
    let error = Error::Conflicts { store: "s".to_owned(), conflicts: expected[..1].to_vec() };
    assert_eq!(error.to_string(), "store s: w/file: a file stands where a directory is needed");
    Ok(())
}

#[tokio::test]
async fn removals_leave_foreign_things_of_another_kind_alone() -> Result<()> {
    let site = Site::bare()?;
    site.foreign(&[(FILE, "file", "1"), (FILE, "directory/x", "1"), (LINK, "link", "file")])?;
    let mut store = site.store("a")?;
    let expected = store.snapshot().await?;
    let changes = [
        remove("file"),
        remove("file/below"),
        remove_file("directory"),
        remove_file("file/below"),
        remove("link"),
        remove_file("link"),
        replace("file", &[]),
    ];
    let done = store.commit(&expected, &changes, &message(), false).await?;
    assert_eq!(done, Committed::Unchanged { revision: expected });
    Ok(())
}

/// Takes the objects away; whatever else the mirror says still stands.
fn damage(mirror: &Path) -> Result<()> {
    for entry in std::fs::read_dir(mirror.join("objects/pack"))? {
        std::fs::remove_file(entry?.path())?;
    }
    Ok(())
}

#[tokio::test]
async fn a_mirror_without_its_objects_is_fetched_anew() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let expected = store.snapshot().await?;
    damage(&site.mirror("a"))?; // between snapshot and commit
    assert!(matches!(
        store.commit(&expected, &[put("a", "1")], &message(), false).await?,
        Committed::Done { .. }
    ));
    damage(&site.mirror("a"))?; // before the snapshot
    write(&mut store, &[put("b", "2")]).await?;
    std::fs::remove_dir_all(site.path("a"))?; // all of it
    write(&mut store, &[put("c", "3")]).await?;
    std::fs::write(site.mirror("a").join("HEAD"), "nonsense")?;
    write(&mut store, &[put("d", "4")]).await?;
    site.assert_files(&[("README", "theirs"), ("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]);
    Ok(())
}

#[tokio::test]
async fn a_mirror_damaged_before_the_push_is_fetched_anew() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let expected = store.snapshot().await?;
    let candidate = prepare(&mut store, &expected, &[put("a", "1")]).await?;
    damage(&site.mirror("a"))?;
    assert_eq!(store.publish(candidate).await?, Committed::Stale);
    write(&mut store, &[put("a", "1")]).await?;
    site.assert_files(&[("README", "theirs"), ("a", "1")]);
    Ok(())
}

#[tokio::test]
async fn a_revision_that_the_mirror_never_saw_is_fetched() -> Result<()> {
    let site = Site::with_readme()?;
    let expected = site.store("a")?.snapshot().await?;
    let mut other = site.store("b")?;
    assert!(matches!(
        other.commit(&expected, &[put("a", "1")], &message(), false).await?,
        Committed::Done { .. }
    ));
    for unknown in ["0123456789012345678901234567890123456789", "an S3 version"] {
        let unknown = state_store_writer::store::Revision::At(unknown.to_owned());
        assert_eq!(other.commit(&unknown, &[put("b", "1")], &message(), false).await?, Committed::Stale);
    }
    Ok(())
}

fn packs(mirror: &Path) -> Result<usize> {
    let mut packs = 0;
    for entry in std::fs::read_dir(mirror.join("objects/pack"))? {
        let path = entry?.path();
        let kind = path.extension().unwrap_or_default();
        assert_ne!(kind, "keep", "{} would never be repacked", path.display());
        packs += usize::from(kind == "pack");
    }
    Ok(packs)
}

#[tokio::test]
async fn a_hundred_batches_in_a_row() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let mut at = store.snapshot().await?;
    for batch in 0..100 {
        let name = format!("w/{}", batch % 10);
        let changes = [replace(&name, &[("x", &format!("{batch}"))])];
        let Committed::Done { revision } = store.commit(&at, &changes, &message(), false).await? else {
            bail!("batch {batch}");
        };
        at = state_store_writer::store::Revision::At(revision);
        if batch >= 50 {
            store.upkeep().await?;
            assert!(packs(&site.mirror("a"))? < 20, "batch {batch}");
        }
    }
    assert_eq!(site.commits()?, 101);
    assert_eq!(site.files()?["w/3/x"], "93");
    Ok(())
}

#[tokio::test]
async fn a_store_that_is_never_idle_repacks_all_the_same() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let expected = store.snapshot().await?;
    for batch in 0..200 {
        prepare(&mut store, &expected, &[put("a", &format!("{batch}"))]).await?;
    }
    assert!(packs(&site.mirror("a"))? < 200);
    write(&mut store, &[put("a", "last")]).await?;
    Ok(())
}

#[tokio::test]
async fn a_mirror_that_cannot_be_repacked_starts_over() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let expected = store.snapshot().await?;
    for batch in 0..20 {
        prepare(&mut store, &expected, &[put("a", &format!("{batch}"))]).await?;
    }
    std::fs::write(site.mirror("a").join("HEAD"), "nonsense")?;
    store.upkeep().await?;
    assert_eq!(packs(&site.mirror("a"))?, 0);
    assert!(matches!(
        store.commit(&expected, &[put("a", "1")], &message(), false).await?,
        Committed::Done { .. }
    ));
    Ok(())
}

#[tokio::test]
async fn hooks_in_the_mirror_do_not_run() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    store.snapshot().await?;
    let marker = site.path("marker");
    for hook in ["pre-push", "reference-transaction", "post-update"] {
        executable(&site.mirror("a").join("hooks").join(hook), &format!("touch {}", marker.display()))?;
    }
    site.foreign(&[(FILE, "b", "2")])?;
    write(&mut store, &[put("a", "1")]).await?;
    assert!(!marker.exists());
    Ok(())
}

/// Reads a pipe that a hook holds open: tells when the hook has started, and when it is gone.
fn watch(pipe: &Path) -> Result<(oneshot::Receiver<()>, oneshot::Receiver<()>)> {
    let made = std::process::Command::new("mkfifo").arg(pipe).status()?;
    assert!(made.success());
    let ((started, has_started), (ended, has_ended)) = (oneshot::channel(), oneshot::channel());
    let pipe = pipe.to_owned();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(std::fs::File::open(pipe).expect("a pipe"));
        lines.read_line(&mut String::new()).expect("a line");
        let _ = started.send(());
        lines.read_to_end(&mut Vec::new()).expect("an end");
        let _ = ended.send(());
    });
    Ok((has_started, has_ended))
}

#[tokio::test]
async fn giving_up_on_a_push_ends_all_its_processes() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let pipe = site.path("pipe");
    let (started, ended) = watch(&pipe)?;
    site.hook("pre-receive", &format!("exec 3> {}; echo started >&3; exec sleep 1000", pipe.display()))?;
    let expected = store.snapshot().await?;
    let candidate = prepare(&mut store, &expected, &[put("a", "1")]).await?;
    tokio::select! {
        result = store.publish(candidate) => bail!("{result:?}"),
        started = started => started?,
    }
    tokio::time::timeout(Duration::from_mins(1), ended).await??;
    Ok(())
}

#[tokio::test]
async fn a_push_that_takes_too_long_is_ended_even_if_it_will_not() -> Result<()> {
    let site = Site::with_readme()?;
    let mut patient = site.store("a")?;
    let expected = patient.snapshot().await?;
    let candidate = prepare(&mut patient, &expected, &[put("a", "1")]).await?;
    let pipe = site.path("pipe");
    let (mut started, ended) = watch(&pipe)?;
    let script = format!("trap '' TERM; exec 3> {}; echo started >&3; exec sleep 1000", pipe.display());
    site.hook("pre-receive", &script)?;
    // Whether the fetch after it also takes too long makes no difference here.
    let mut hasty = site.store_with_timeout("a", Duration::from_secs(1))?;
    let error = hasty.publish(candidate).await.expect_err("no answer");
    assert!(matches!(error, Error::Unanswered { .. }), "{error:?}");
    assert!(error.to_string().contains("git push took longer than 1s"), "{error}");
    if started.try_recv().is_ok() {
        tokio::time::timeout(Duration::from_mins(1), ended).await??;
    }
    std::fs::remove_file(site.repository().join("hooks/pre-receive"))?;
    write(&mut patient, &[put("a", "1")]).await?;
    Ok(())
}
