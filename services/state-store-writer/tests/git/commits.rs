//! What a commit changes, and what it leaves alone.

use anyhow::Result;
use state_store_writer::canary::{self, Arrangement};
use state_store_writer::commit_message::{Author, CommitMessage};
use state_store_writer::store::git::{GitStore, Settings};
use state_store_writer::store::{Committed, Revision, StateStore};

use crate::site::{FILE, Site, message, put, remove, remove_file, replace, write};

#[tokio::test]
async fn the_first_commit_into_an_empty_repository_has_no_parent() -> Result<()> {
    let site = Site::bare()?;
    let mut store = site.store("a")?;
    assert_eq!(store.snapshot().await?, Revision::Absent);
    let done = store.commit(&Revision::Absent, &[replace("a/b", &[("c/d", "1")])], &message(), false).await?;
    assert_eq!(done, Committed::Done { revision: site.tip()? });
    assert_eq!(store.snapshot().await?, Revision::At(site.tip()?));
    assert_eq!(site.commits()?, 1);
    site.assert_files(&[("a/b/c/d", "1")]);
    Ok(())
}

#[tokio::test]
async fn nothing_to_do_in_an_empty_repository_creates_no_branch() -> Result<()> {
    let site = Site::bare()?;
    let mut store = site.store("a")?;
    let changes = [remove("a"), remove_file("b"), replace("c", &[])];
    let done = store.commit(&Revision::Absent, &changes, &message(), false).await?;
    assert_eq!(done, Committed::Unchanged { revision: Revision::Absent });
    assert!(site.tip().is_err());
    Ok(())
}

#[tokio::test]
async fn commits_name_their_author_and_their_placements() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = GitStore::new(Settings { author: Author::new("", ""), ..site.settings("a") })?;
    let expected = store.snapshot().await?;
    let message = CommitMessage::of_batch(["b", "a"], ["c"]);
    let _ = store.commit(&expected, &[put("x", "1")], &message, false).await?;
    let format = "%an <%ae>|%cn <%ce>|%P|%B";
    let written = site.git(&["log", "-1", &format!("--format={format}"), "main"])?;
    let parent = expected.id().unwrap_or_default();
    let text = "Update 3 placements\n\nPlacement: a\nPlacement: b\nRemoved: c";
    assert_eq!(written, format!("kratix <>|kratix <>|{parent}|{text}"));
    let trailers = site.git(&["log", "-1", "--format=%(trailers:key=Placement,valueonly)", "main"])?;
    assert_eq!(trailers, "a\nb");
    Ok(())
}

/// kratix-F6: each placement has a directory of its own, and one commit writes several.
#[tokio::test]
async fn replacing_and_removing_directories_leaves_their_siblings() -> Result<()> {
    let site = Site::bare()?;
    site.foreign(&[(FILE, "w/README", "theirs"), (FILE, "w/ns/app/b/theirs.yaml", "theirs")])?;
    let mut store = site.store("a")?;
    write(
        &mut store,
        &[
            replace("w/ns/app/a/5058f", &[("one.yaml", "1"), ("deep/two.yaml", "2"), ("three.yaml", "3")]),
            replace("w/ns/app/b/5058f", &[("one.yaml", "1")]),
            replace("w/ns/app/c/5058f", &[("one.yaml", "1")]),
        ],
    )
    .await?;
    write(
        &mut store,
        &[
            replace("w/ns/app/a/5058f", &[("one.yaml", "1"), ("three.yaml", "33")]),
            remove("w/ns/app/b/5058f"),
        ],
    )
    .await?;
    write(&mut store, &[replace("w/ns/app/c/5058f", &[])]).await?;
    site.assert_files(&[
        ("w/README", "theirs"),
        ("w/ns/app/a/5058f/one.yaml", "1"),
        ("w/ns/app/a/5058f/three.yaml", "33"),
        ("w/ns/app/b/theirs.yaml", "theirs"),
    ]);
    Ok(())
}

/// kratix-F8: the revision stays what it was.
#[tokio::test]
async fn nothing_to_do_is_no_commit() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let changes =
        [replace("a", &[("x", "1"), ("y/z", "2")]), put("b/c", "3"), remove("d/e"), remove_file("f")];
    let revision = write(&mut store, &changes).await?;
    let expected = store.snapshot().await?;
    let again = store.commit(&expected, &changes, &message(), false).await?;
    assert_eq!(again, Committed::Unchanged { revision: Revision::At(revision.clone()) });
    assert_eq!((site.tip()?, site.commits()?), (revision, 2));
    Ok(())
}

#[tokio::test]
async fn a_forced_move_is_an_empty_commit() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let before = store.snapshot().await?;
    let Committed::Done { revision } = store.commit(&before, &[remove("a")], &message(), true).await? else {
        anyhow::bail!("no commit");
    };
    assert_eq!(site.tip()?, revision);
    assert_eq!(site.git(&["rev-parse", "main^"])?, before.id().unwrap_or_default());
    assert_eq!(site.git(&["diff", "--name-only", "main^", "main"])?, "");
    Ok(())
}

#[tokio::test]
async fn a_store_may_end_empty() -> Result<()> {
    let site = Site::bare()?;
    let mut store = site.store("a")?;
    write(&mut store, &[put("a/b", "1")]).await?;
    write(&mut store, &[remove_file("a/b")]).await?;
    site.assert_files(&[]);
    write(&mut store, &[put("a/c", "2")]).await?;
    site.assert_files(&[("a/c", "2")]);
    Ok(())
}

#[tokio::test]
async fn changes_of_one_commit_take_effect_in_order() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    write(&mut store, &[put("file", "1"), put("directory/x", "1"), put("p/old", "1")]).await?;
    write(
        &mut store,
        &[
            // A file becomes a directory, and a directory a file.
            remove_file("file"),
            put("file/x", "2"),
            remove_file("directory/x"),
            put("directory", "2"),
            // What a directory held does not come back with it.
            put("p/touched", "2"),
            remove("p"),
            put("p/new", "2"),
            // The later of two wins.
            replace("q", &[("x", "2")]),
            replace("q", &[("y", "2")]),
            put("q/z", "2"),
        ],
    )
    .await?;
    site.assert_files(&[
        ("README", "theirs"),
        ("directory", "2"),
        ("file/x", "2"),
        ("p/new", "2"),
        ("q/y", "2"),
        ("q/z", "2"),
    ]);
    Ok(())
}

#[tokio::test]
async fn names_that_sort_around_a_directory_make_a_sound_tree() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    write(&mut store, &[put("a/x", "1"), put("a.b", "1"), put("a-b", "1"), put("a0", "1"), put("ab", "1")])
        .await?;
    write(&mut store, &[put("a/y", "2"), put("a.b", "2")]).await?;
    site.git(&["fsck", "--strict"])?;
    assert_eq!(site.files()?.len(), 7);
    Ok(())
}

#[tokio::test]
async fn canaries_come_and_go_without_touching_their_siblings() -> Result<()> {
    let site = Site::bare()?;
    site.foreign(&[(FILE, "w/resources/theirs.yaml", "theirs")])?;
    let mut store = site.store("a")?;
    let directory = crate::site::path("w");
    write(&mut store, &canary::put(Some(&directory), Arrangement::Nested)).await?;
    let files = site.files()?;
    assert!(files["w/dependencies/kratix-canary-namespace.yaml"].contains("name: kratix-worker-system"));
    assert!(files["w/resources/kratix-canary-configmap.yaml"].contains("name: kratix-info"));
    write(&mut store, &canary::remove(Some(&directory), Arrangement::Nested)).await?;
    site.assert_files(&[("w/resources/theirs.yaml", "theirs")]);
    Ok(())
}
