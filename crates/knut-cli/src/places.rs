//! Where in a project's files an error of the server stands.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use knut_project::{Project, SqlChunk, SqlDefinitions, reported_chunk, reported_place, split_sql};
use knut_viewer::visible;

/// A project and what its SQL files define.
pub(crate) struct Places<'a> {
    project: &'a Project,
    definitions: SqlDefinitions,
}

impl<'a> Places<'a> {
    pub(crate) fn of(project: &'a Project) -> Self {
        Self { project, definitions: project.sql_definitions() }
    }

    /// The lines around the place in a flow's statement that `message` tells; `None` if it tells
    /// none, or if the flow is not from a SQL file. `flow` is its name as events spell it.
    pub(crate) fn of_flow(&self, flow: &str, message: &str) -> Option<String> {
        let is_meant = |parts: &[String]| {
            let name = parts.join(".");
            flow == name || flow.strip_suffix(&name).is_some_and(|before| before.ends_with('.'))
        };
        let mut meant = self.definitions.flows.iter().filter(|defined| is_meant(defined.name.parts()));
        let (first, second) = (meant.next()?, meant.next());
        let index = first.statement;
        let chunk = &self.definitions.files[index.file].statements[index.statement].chunk;
        if second.is_some() {
            return None;
        }
        self.snippet(index.file, chunk, message)
    }

    /// The lines around the place that a parse error of `file` is about.
    pub(crate) fn of_file(&self, file: &str, message: &str) -> Option<String> {
        let index = self.project.sql_files.iter().position(|known| known.path == file)?;
        let text = &self.project.sql_files[index].text;
        let chunks = split_sql(text);
        self.snippet(index, reported_chunk(&chunks, text, message)?, message)
    }

    fn snippet(&self, file: usize, chunk: &SqlChunk, message: &str) -> Option<String> {
        let place = chunk.place_in_file(reported_place(message)?);
        let file = &self.project.sql_files[file];
        let start = byte_of(&file.text, place.line, place.column)?;
        // The word that begins there, or the one character.
        let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
        let rest = &file.text[start..];
        let word: usize = rest.chars().take_while(is_word).map(char::len_utf8).sum();
        let length = if word > 0 { word } else { rest.chars().next().map_or(0, char::len_utf8) };
        let annotation = AnnotationKind::Primary.span(start..start + length);
        let snippet = Snippet::source(file.text.as_str()).path(visible(&file.path).into_owned()).annotation(annotation);
        Some(Renderer::styled().render(&[Group::with_level(Level::ERROR).element(snippet)]))
    }
}

/// The byte at a line and column; `None` if the text has no such place.
fn byte_of(text: &str, line: u32, column: u32) -> Option<usize> {
    let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    let start: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let text = text.get(start..)?.split_inclusive('\n').next()?;
    let (offset, _) = text.char_indices().nth(column.checked_sub(1)?)?;
    Some(start + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_a_byte_or_is_none() {
        let text = "a漢b\n\ncd";
        for (line, column, byte) in [
            (1, 1, Some(0)),
            (1, 3, Some(4)),
            (2, 1, Some(6)),
            (3, 2, Some(8)),
            (3, 3, None),
            (4, 1, None),
            (0, 1, None),
        ] {
            assert_eq!(byte_of(text, line, column), byte, "{line}:{column}");
        }
    }
}
