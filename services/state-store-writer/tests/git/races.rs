//! Two writers, and somebody else: whoever is late is told so, and nobody's work is undone.

use anyhow::Result;
use state_store_writer::store::{Committed, Revision, StateStore};

use crate::site::{FILE, Site, git, message, prepare, put, replace, write};

/// kratix-F14: a writer with an old view recovers, and what moved the branch stays.
#[tokio::test]
async fn a_foreign_commit_makes_the_batch_stale_and_is_kept() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let expected = store.snapshot().await?;
    let foreign = site.foreign(&[(FILE, "a/theirs", "2"), (FILE, "b", "2")])?;
    let changes = [put("a/ours", "1")];
    assert_eq!(store.commit(&expected, &changes, &message(), false).await?, Committed::Stale);
    assert_eq!(site.tip()?, foreign);
    write(&mut store, &changes).await?;
    assert_eq!(site.git(&["rev-parse", "main^"])?, foreign);
    site.assert_files(&[("README", "theirs"), ("a/ours", "1"), ("a/theirs", "2"), ("b", "2")]);
    Ok(())
}

#[tokio::test]
async fn a_frozen_writers_push_does_not_land() -> Result<()> {
    let site = Site::with_readme()?;
    let (mut frozen, mut other) = (site.store("a")?, site.store("b")?);
    let seen = frozen.snapshot().await?;
    let late = prepare(&mut frozen, &seen, &[replace("a", &[("x", "old")])]).await?;
    let newer = write(&mut other, &[replace("a", &[("x", "new")])]).await?;
    assert_eq!(frozen.publish(late).await?, Committed::Stale);
    assert_eq!(site.tip()?, newer);
    site.assert_files(&[("README", "theirs"), ("a/x", "new")]);
    Ok(())
}

/// The reason for forced moves: the second writer finds everything as it should be, and the frozen one still holds
/// a push that would change it.
#[tokio::test]
async fn a_forced_move_ends_a_frozen_writers_push() -> Result<()> {
    let site = Site::with_readme()?;
    let (mut frozen, mut other) = (site.store("a")?, site.store("b")?);
    let seen = frozen.snapshot().await?;
    let late = prepare(&mut frozen, &seen, &[replace("a", &[("x", "old")])]).await?;
    let expected = other.snapshot().await?;
    let moved = other.commit(&expected, &[replace("a", &[])], &message(), true).await?;
    assert!(matches!(moved, Committed::Done { .. }));
    assert_eq!(frozen.publish(late).await?, Committed::Stale);
    site.assert_files(&[("README", "theirs")]);
    Ok(())
}

#[tokio::test]
async fn a_rewound_branch_is_not_forced_back() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let first = site.tip()?;
    write(&mut store, &[put("a", "1")]).await?;
    let expected = store.snapshot().await?;
    site.git(&["update-ref", "refs/heads/main", &first])?;
    assert_eq!(store.commit(&expected, &[put("b", "2")], &message(), false).await?, Committed::Stale);
    assert_eq!(site.tip()?, first);
    assert_eq!(store.snapshot().await?, Revision::At(first));
    write(&mut store, &[put("b", "2")]).await?;
    site.assert_files(&[("README", "theirs"), ("b", "2")]);
    Ok(())
}

#[tokio::test]
async fn a_deleted_branch_is_not_brought_back_by_an_old_view() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let expected = store.snapshot().await?;
    site.git(&["update-ref", "-d", "refs/heads/main"])?;
    assert_eq!(store.commit(&expected, &[put("a", "1")], &message(), false).await?, Committed::Stale);
    assert!(site.tip().is_err());
    assert_eq!(store.snapshot().await?, Revision::Absent);
    write(&mut store, &[put("a", "1")]).await?;
    site.assert_files(&[("a", "1")]);
    Ok(())
}

#[tokio::test]
async fn a_branch_that_came_into_being_meanwhile_is_not_replaced() -> Result<()> {
    let site = Site::bare()?;
    let mut store = site.store("a")?;
    let first = prepare(&mut store, &Revision::Absent, &[put("a", "1")]).await?;
    let foreign = site.foreign(&[(FILE, "b", "2")])?;
    assert_eq!(store.publish(first).await?, Committed::Stale);
    assert_eq!(site.tip()?, foreign);
    Ok(())
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_found_on_the_branch() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    // The receiving side dies after it moved the branch, before it says so.
    site.hook("reference-transaction", r#"[ "$1" = committed ] && kill -9 "$PPID"; exit 0"#)?;
    let expected = store.snapshot().await?;
    let done = store.commit(&expected, &[put("a", "1")], &message(), false).await?;
    assert_eq!(done, Committed::Done { revision: site.tip()? });
    site.assert_files(&[("README", "theirs"), ("a", "1")]);
    Ok(())
}

#[tokio::test]
async fn a_commit_that_somebody_built_upon_has_landed() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let foreign = format!(
        "[ \"$1\" = committed ] || exit 0\n\
         tip=$(git rev-parse refs/heads/main) && export GIT_AUTHOR_NAME=ada GIT_AUTHOR_EMAIL=a@b.c\n\
         export GIT_COMMITTER_NAME=ada GIT_COMMITTER_EMAIL=a@b.c\n\
         next=$(git commit-tree -p \"$tip\" -m theirs \"$tip^{{tree}}\")\n\
         echo \"$next\" > {}/refs/heads/main\nkill -9 \"$PPID\"",
        site.repository().display()
    );
    site.hook("reference-transaction", &foreign)?;
    let expected = store.snapshot().await?;
    let Committed::Done { revision } = store.commit(&expected, &[put("a", "1")], &message(), false).await?
    else {
        anyhow::bail!("no commit");
    };
    assert_eq!(site.git(&["rev-parse", "main^"])?, revision);
    Ok(())
}

#[tokio::test]
async fn a_commit_that_is_there_already_needs_no_second_push() -> Result<()> {
    let site = Site::with_readme()?;
    let mut store = site.store("a")?;
    let expected = store.snapshot().await?;
    let candidate = prepare(&mut store, &expected, &[put("a", "1")]).await?;
    assert!(matches!(store.publish(candidate.clone()).await?, Committed::Done { .. }));
    let tip = site.tip()?;
    assert!(matches!(store.publish(candidate).await?, Committed::Done { revision } if revision == tip));
    assert_eq!(git(&site.repository(), &["rev-parse", "main"], "")?, tip);
    Ok(())
}
