module redlock

go 1.19
