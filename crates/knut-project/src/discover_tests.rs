//! Which files the globs take, on real folders.

use super::*;

/// A project of the given files; a name that ends in `/` is a folder.
fn project(files: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        write(root.path(), file, "SELECT 1");
    }
    root
}

fn write(root: &Path, file: &str, text: impl AsRef<[u8]>) {
    let path = root.join(file);
    if file.ends_with('/') {
        fs::create_dir_all(path).unwrap();
    } else {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn run(root: &Path, includes: &[&str]) -> (Vec<String>, Vec<String>) {
    let libraries: Vec<Library> = includes
        .iter()
        .map(|include| Library {
            include: (*include).to_owned(),
            pattern: LibraryPattern::parse(include).unwrap(),
            line: 5,
            column: 7,
            end_column: 8,
        })
        .collect();
    let (files, problems) = discover(root, "s.yml", &libraries);
    let root = root.display().to_string();
    let told = problems.iter().map(|problem| problem.to_string().replace(&root, "ROOT"));
    (files.into_iter().map(|file| file.path).collect(), told.collect())
}

fn check(files: &[&str], includes: &[&str], sql: &[&str], problems: &[&str]) {
    let root = project(files);
    let found = run(root.path(), includes);
    assert_eq!((found.0.as_slice(), found.1.as_slice()), (&*owned(sql), &*owned(problems)), "{includes:?}");
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// C023: sorted by path, whatever order the folder has; each file once.
#[test]
fn files_are_sorted_and_come_once() {
    check(
        &["t/z.sql", "t/b/y.sql", "t/a.sql", "t/B.sql", "x.sql"],
        &["t/**", "./x.sql", "t/a.sql", "./t//b/**", "x.sql"],
        &["t/B.sql", "t/a.sql", "t/b/y.sql", "t/z.sql", "x.sql"],
        &[],
    );
    let many: Vec<String> = (0..12).map(|n| format!("t/f{:02}.sql", (n * 7) % 12)).collect();
    let mut sorted = many.clone();
    sorted.sort();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    check(&many, &["t/**"], &sorted.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
}

/// C017, C018: only `include` is a pattern, and its names are literal too.
#[test]
fn odd_names_are_literal() {
    let odd = ["a[1]", "a*b", "{x}", "é 漢", "with space"];
    for folder in odd {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join(folder);
        write(&root, "my files/a b.sql", "");
        write(&root, "my files/[x]*.sql", "");
        assert_eq!(
            run(&root, &["my files/**"]),
            (owned(&["my files/[x]*.sql", "my files/a b.sql"]), vec![]),
            "{folder}"
        );
    }
    let top = tempfile::tempdir().unwrap();
    let root = top.path().join(["long"; 80].join("/"));
    write(&root, "t/a.sql", "");
    assert_eq!(run(&root, &["t/**"]).0, ["t/a.sql"]);
    check(&["{x}/a.sql", "x/b.sql"], &["{x}/**"], &["{x}/a.sql"], &[]);
}

#[test]
fn a_glob_that_matches_nothing_is_told_with_its_folder() {
    for (include, why) in [
        ("no.sql", "there is no such file"),
        ("no/**", "there is no such folder"),
        ("t", "it is a folder"),
        ("t/", "it is a folder"),
        ("t/a.sql/**", "it is a file"),
        ("empty/**", "the folder has no files"),
        ("cache/**", "the folder has no files"),
    ] {
        let told = format!("s.yml:5:7: the glob `{include}` matches nothing in `ROOT`: {why}");
        check(&["t/a.sql", "empty/deep/", "cache/__pycache__/x.pyc"], &[include], &[], &[&told]);
    }
}

/// C019: all Python files in one message.
#[test]
fn python_files_are_refused_all_by_name() {
    check(
        &["t/a.sql", "t/b.py", "t/deep/c.py", "t/__pycache__/b.pyc"],
        &["t/**"],
        &["t/a.sql"],
        &["s.yml:5:7: knut does not run Python definitions yet, and the globs take `t/b.py`, `t/deep/c.py`"],
    );
}

#[test]
fn other_files_are_errors_by_name() {
    let told = |file: &str| format!("{file}: not a definition file: only files that end in `.sql` are read");
    let odd = ["t/.DS_Store", "t/.a.sql.swp", "t/.sql", "t/README.md", "t/X.java", "t/b.SQL"];
    let expected: Vec<String> = odd.iter().map(|file| told(file)).collect();
    check(&odd, &["t/**"], &[], &expected.iter().map(String::as_str).collect::<Vec<_>>());
    let many: Vec<String> = (10..25).map(|n| format!("t/{n}.txt")).collect();
    let root = project(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let problems = run(root.path(), &["t/**"]).1;
    assert_eq!(problems.len(), 11);
    assert_eq!(problems[10], "t/20.txt: 5 more files are no definition files, this one and those after it");
}

/// C024: what a SQL file may not hold; the others are read all the same.
#[test]
fn sql_text_is_utf8_and_comes_without_bom() {
    let root = project(&[]);
    write(root.path(), "t/a.sql", b"\xEF\xBB\xBFSELECT\xC2\xA01\r\n");
    write(root.path(), "t/b.sql", b"SELECT '\xFF'");
    write(root.path(), "t/c.sql", b"SELECT\n\0 1");
    write(root.path(), "t/d.sql", b"\xFF\xFES\0");
    let libraries = [Library {
        include: "t/**".into(),
        pattern: LibraryPattern::Folder("t".into()),
        line: 1,
        column: 1,
        end_column: 1,
    }];
    let (files, problems) = discover(root.path(), "s.yml", &libraries);
    assert_eq!(files, [SqlFile { path: "t/a.sql".into(), text: "SELECT\u{a0}1\r\n".into() }]);
    let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "t/b.sql:1:9: the file is not UTF-8: byte 0xFF at byte offset 8 begins no character",
            "t/c.sql:2:1: a NUL byte stands at byte offset 7",
            "t/d.sql: the file is UTF-16, not UTF-8: a UTF-16 byte order mark stands at byte offset 0",
        ]
    );
}

#[cfg(unix)]
#[test]
fn links_in_a_circle_end_and_broken_links_are_told() {
    use std::os::unix::fs::symlink;

    let root = project(&["t/a.sql", "elsewhere/e.sql"]);
    let at = |path: &str| root.path().join(path);
    symlink(at("t"), at("t/circle")).unwrap();
    symlink(at("elsewhere"), at("t/folder_link")).unwrap();
    symlink(at("elsewhere/e.sql"), at("t/file_link.sql")).unwrap();
    symlink(at("t/self.sql"), at("t/self.sql")).unwrap();
    symlink("me@host.1", at("t/.#a.sql")).unwrap();
    symlink(at("t"), at("linked")).unwrap();
    let (files, problems) = run(root.path(), &["t/**"]);
    assert_eq!(files, ["t/a.sql", "t/file_link.sql"]);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("t/self.sql: the file cannot be read"), "{problems:?}");
    fs::remove_file(at("t/self.sql")).unwrap();
    // The folder of an include may be a link; a file found on two ways comes once.
    assert_eq!(run(root.path(), &["linked/**", "t/**"]), (owned(&["linked/a.sql", "linked/file_link.sql"]), vec![]));
}
