module github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters/versions

go 1.26.0
