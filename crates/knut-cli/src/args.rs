//! The arguments of `knut`. Options that `spark-pipelines` has keep their names and meaning.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use knut_model::{Identifier, RefreshSelection};

use crate::printer::Verbosity;

/// Author, run and watch Spark Declarative Pipelines.
#[derive(Debug, Parser)]
#[command(name = "knut", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = crate::exit_code::HELP)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Say more: also when flows start
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Say less: only failures and the last line
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Colour the output (`NO_COLOR` and `CLICOLOR_FORCE` are honoured too)
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// When to colour.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Args {
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a new project that runs at once
    Init(InitArgs),
    /// Tell everything that is wrong with the project, without a server
    Check(CheckArgs),
    /// Draw the project's datasets and who reads whom, without a server
    Graph(GraphArgs),
    /// Run the project's pipeline
    Run(RunArgs),
    /// Check the project's pipeline on a server without running it
    DryRun(DryRunArgs),
    /// Follow a run again: from its first event on, or to its end if it runs detached. Whoever
    /// followed it before is told so and stops; Ctrl-C cancels the run as in `knut run`
    Attach(KeptRunArgs),
    /// Tell what the server says of a run
    Status(KeptRunArgs),
    /// Cancel a run on the server
    Cancel(KeptRunArgs),
    /// Execute SQL statements and print their rows
    Sql(SqlArgs),
    /// Print some rows of a table
    Preview(PreviewArgs),
    /// Install, start and stop a Spark server on this machine
    Local(LocalArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InitArgs {
    /// The folder to make the project in; made if it does not exist
    pub(crate) folder: PathBuf,
    /// The pipeline's name [default: the folder's name]
    #[arg(long)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// How to tell it
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub(crate) format: CheckFormat,
    /// Explain a code, such as K0203, instead
    #[arg(long, value_name = "CODE")]
    pub(crate) explain: Option<String>,
}

/// How findings are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// With the lines they are about
    Human,
    /// One JSON object a line
    Json,
    /// As annotations of GitHub Actions
    Github,
    /// As SARIF 2.1.0, for code scanning
    Sarif,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Draw the graph in this JSON file instead, as `knut-model` writes it; `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["spec", "diff"])]
    pub(crate) from: Option<PathBuf>,
    /// How to draw it
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: GraphFormat,
    /// Draw only what is near this dataset
    #[arg(long, value_name = "DATASET")]
    pub(crate) focus: Option<String>,
    /// How many steps upstream of it [default: all]
    #[arg(long, value_name = "N", requires = "focus")]
    pub(crate) up: Option<usize>,
    /// How many steps downstream of it [default: all]
    #[arg(long, value_name = "N", requires = "focus")]
    pub(crate) down: Option<usize>,
    /// Tell what changed since a revision of git, such as `main`: nodes and edges that are new, gone
    /// or defined in another way. Blanks, comments and places in files do not count
    #[arg(long, value_name = "REV", conflicts_with_all = ["refresh", "full_refresh", "full_refresh_all"])]
    #[arg(allow_hyphen_values = true)]
    pub(crate) diff: Option<String>,
    /// Draw together what belongs together [default: none in text, else file]
    #[arg(long, value_name = "WHAT")]
    pub(crate) group_by: Option<GroupBy>,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
}

/// What datasets are drawn together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// The file that defines them
    File,
    /// Their catalog and database
    Schema,
    /// Nothing
    None,
}

/// How a graph is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// One line for each dataset
    Text,
    /// For Graphviz
    Dot,
    /// For Markdown
    Mermaid,
    /// A drawing, for browsers
    Svg,
    /// For programs
    Json,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Start the run and leave it: it goes on without a client, and only its end can be learnt, by
    /// `knut attach` and `knut status`, while its server keeps the session: for an hour after the last
    /// of these. Needs Spark 4.2
    #[arg(long)]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) graph: GraphRunArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SelectionArgs {
    /// Update only these datasets, separated by commas
    #[arg(long, value_name = "DATASETS", value_parser = parse_datasets)]
    pub(crate) refresh: Vec<Datasets>,
    /// Reset and recompute only these datasets, separated by commas
    #[arg(long, value_name = "DATASETS", value_parser = parse_datasets)]
    pub(crate) full_refresh: Vec<Datasets>,
    /// Reset and recompute every dataset
    #[arg(long, conflicts_with_all = ["refresh", "full_refresh"])]
    pub(crate) full_refresh_all: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct GraphRunArgs {
    /// Keep streaming checkpoints here instead of in the spec's `storage`
    #[arg(long, value_name = "URI or FOLDER")]
    pub(crate) storage: Option<String>,
    /// Ask the server even if `knut check` finds errors
    #[arg(long)]
    pub(crate) no_check: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DryRunArgs {
    #[command(flatten)]
    pub(crate) graph: GraphRunArgs,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SqlArgs {
    /// The statements, separated by `;`. They are executed in order until one fails
    #[arg(value_name = "STATEMENTS")]
    pub(crate) text: String,
    /// How many rows of each result to print [default: 1000 in a table, else all]
    #[arg(long, value_name = "ROWS")]
    pub(crate) limit: Option<u64>,
    /// How to print rows
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: RowFormat,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Aligned, and cut to the width of the terminal
    Table,
    /// With a line of column names; NULL is an empty field, an empty text is a quoted one
    Csv,
    /// One JSON object a line
    Json,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PreviewArgs {
    /// The table. A name without catalog and database means one of the project's
    #[arg(value_name = "TABLE", value_parser = Identifier::parse)]
    pub(crate) table: Identifier,
    /// How many rows to print
    #[arg(long, value_name = "ROWS", default_value_t = 20)]
    pub(crate) limit: u64,
    /// How to print them
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: RowFormat,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct KeptRunArgs {
    /// The run, by its id or the beginning of it [default: the project's last one]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
    /// Another way to the run's server, or its token, as in `sc://host:15002/;token=…`
    #[arg(long, value_name = "URL")]
    pub(crate) remote: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ProjectArgs {
    /// The pipeline spec [default: spark-pipeline.yml here or in a folder above]
    #[arg(long, value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ServerArgs {
    /// The Spark Connect server, as in `sc://host:15002/;token=…`. The connection string can also
    /// stand in `SPARK_REMOTE`, and the token in `SPARK_CONNECT_AUTHENTICATE_TOKEN`
    #[arg(long, value_name = "URL")]
    pub(crate) remote: Option<String>,
    /// Use a Spark server on this machine, installing and starting it if needed. This is the
    /// default when no server is named
    #[arg(long, conflicts_with = "remote")]
    pub(crate) local: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LocalArgs {
    #[command(subcommand)]
    pub(crate) command: LocalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LocalCommand {
    /// Install Spark for this user, and Java if none is found
    Install,
    /// Start the project's server, unless it is running
    Start {
        #[command(flatten)]
        project: ProjectArgs,
        /// The port to listen on [default: any free one]
        #[arg(long)]
        port: Option<u16>,
    },
    /// Stop the project's server
    Stop {
        #[command(flatten)]
        project: ProjectArgs,
    },
    /// Tell what is installed and whether the project's server is running
    Status {
        #[command(flatten)]
        project: ProjectArgs,
        /// Print only the connection string, with its token, for other Spark Connect clients
        #[arg(long)]
        remote: bool,
    },
}

impl SelectionArgs {
    pub(crate) fn selection(&self) -> RefreshSelection {
        let names = |lists: &[Datasets]| lists.iter().flat_map(|list| list.0.clone()).collect::<Vec<_>>();
        if self.full_refresh_all {
            return RefreshSelection::FullAll;
        }
        RefreshSelection::only(names(&self.refresh), names(&self.full_refresh)).unwrap_or(RefreshSelection::All)
    }
}

/// A list of dataset names in one argument.
#[derive(Clone, Debug)]
pub(crate) struct Datasets(pub(crate) Vec<Identifier>);

/// Reads names separated by commas; a comma inside backticks belongs to the name.
fn parse_datasets(text: &str) -> Result<Datasets, String> {
    let mut names = Vec::new();
    let mut is_quoted = false;
    let parts = text.split(|c| {
        is_quoted ^= c == '`';
        c == ',' && !is_quoted
    });
    for part in parts {
        names.push(Identifier::parse(part).map_err(|error| error.to_string())?);
    }
    Ok(Datasets(names))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_holds() {
        Args::command().debug_assert();
    }

    #[test]
    fn dataset_lists_are_read() {
        let names = |text| parse_datasets(text).map(|list| list.0.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(names("a, b.c").unwrap(), ["a", "b.c"]);
        assert_eq!(names("`a,b`,c").unwrap(), ["`a,b`", "c"]);
        assert!(names("a,,b").unwrap_err().contains("empty"));
        assert!(names("").is_err());
    }

    #[test]
    fn options_become_one_selection() {
        let selection = |args: &[&str]| {
            let Command::Run(args) = Args::try_parse_from([&["knut", "run"], args].concat()).unwrap().command else {
                panic!("not `run`");
            };
            args.selection.selection()
        };
        let names = |names: &[&str]| names.iter().map(|name| Identifier::parse(name).unwrap()).collect::<Vec<_>>();
        assert_eq!(selection(&["--full-refresh-all"]), RefreshSelection::FullAll);
        assert_eq!(selection(&[]), RefreshSelection::All);
        let only = RefreshSelection::only(names(&["b", "c"]), names(&["a"])).unwrap();
        assert_eq!(selection(&["--full-refresh", "a", "--refresh", "b,c"]), only);
    }

    /// The page is what `--help` says; `UPDATE_DOCS=1 cargo test -p knut-cli` writes it anew.
    #[test]
    fn the_reference_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
        let page = reference_page();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap();
        assert!(found == page, "docs/cli.md differs: run UPDATE_DOCS=1 cargo test -p knut-cli");
    }

    fn reference_page() -> String {
        let mut page = String::from("# The `knut` command\n\nWhat `knut --help` and `knut COMMAND --help` say.\n");
        let mut command = Args::command().term_width(100);
        command.build();
        add_command(&mut page, &mut command);
        page
    }

    fn add_command(page: &mut String, command: &mut clap::Command) {
        let name = command.get_bin_name().unwrap_or("knut").to_owned();
        let help = command.render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        writeln!(page, "\n## {name}\n\n```text\n{}\n```", help.join("\n").trim_end()).unwrap();
        for inner in command.get_subcommands_mut().filter(|inner| inner.get_name() != "help") {
            add_command(page, inner);
        }
    }
}
