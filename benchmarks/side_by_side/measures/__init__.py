"""One file per question that is put to both servers."""
