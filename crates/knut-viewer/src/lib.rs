//! The pure reducer from pipeline updates to what a viewer shows.
