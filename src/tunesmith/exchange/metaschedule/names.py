"""What MetaSchedule calls its files: one of functions that are tuned, one of what was tried."""

WORKLOADS = "database_workload.json"
RECORDS = "database_tuning_record.json"
