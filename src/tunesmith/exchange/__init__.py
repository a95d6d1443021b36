"""Records in files of other programs: JSON lines, Parquet, logs of AutoTVM, MetaSchedule's."""

from tunesmith.exchange.files import FORMATS, read_records, write_records

__all__ = ["FORMATS", "read_records", "write_records"]
