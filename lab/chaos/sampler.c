/* SPDX-License-Identifier: BSD-2-Clause */
#include "sampler.h"

#include "check.h"
#include "clock.h"
#include "helper.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 6, DESCENDANTS_MAX = 64 };

void sampled_set(struct sampled *s, pid_t pid, const char *words, int number)
{
    if (s->words[0] == '\0') {
        if (number != 0)
            snprintf(s->words, sizeof s->words, "%s %d", words, number);
        else
            snprintf(s->words, sizeof s->words, "%s", words);
    }
    s->pid = pid;
}

struct sample {
    char state;
    long rss_kib, pss_kib, descriptors, cpu_ms;
    char program[32];
};

static FILE *proc_open(pid_t pid, const char *what)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
    return fopen(path, "re");
}

/* Name, state, CPU and resident memory. False: the process is gone. */
static bool read_stat(pid_t pid, struct sample *out)
{
    char text[1024], *open, *close;
    FILE *file = proc_open(pid, "stat");
    unsigned long user = 0, system = 0;
    long pages = 0;
    size_t size;
    if (file == NULL)
        return false;
    size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    open = strchr(text, '(');
    close = strrchr(text, ')');
    if (open == NULL || close == NULL ||
        sscanf(close + 2,
               "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u "
               "%*u %ld",
               &out->state, &user, &system, &pages) != 4)
        return false;
    *close = '\0';
    snprintf(out->program, sizeof out->program, "%.31s", open + 1);
    out->cpu_ms = (long)(user + system) * 1000 / sysconf(_SC_CLK_TCK);
    out->rss_kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
    return true;
}

static void read_pss(pid_t pid, struct sample *out)
{
    char line[256];
    FILE *file = proc_open(pid, "smaps_rollup");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "Pss:", 4) == 0)
            out->pss_kib = atol(line + 4);
    if (file != NULL)
        fclose(file);
}

static void count_descriptors(pid_t pid, struct sample *out)
{
    char path[64];
    DIR *dir;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    dir = opendir(path);
    while (dir != NULL && readdir(dir) != NULL)
        out->descriptors++;
    if (dir != NULL) {
        closedir(dir);
        out->descriptors -= 2; /* . and .. */
    }
}

static void write_sample(FILE *out, double at_s, pid_t pid, const char *words)
{
    struct sample s = {0};
    if (!read_stat(pid, &s))
        return;
    read_pss(pid, &s);
    count_descriptors(pid, &s);
    fprintf(out, "%.1f,%d,%s,%c,%ld,%ld,%ld,%ld\n", at_s, (int)pid,
            words[0] != '\0' ? words : s.program, s.state, s.rss_kib, s.pss_kib, s.descriptors,
            s.cpu_ms);
}

static const char *words_of(const struct sampling *s, pid_t pid)
{
    for (int i = 0; i < SAMPLED_MAX; i++)
        if (s->sampled[i].pid == pid)
            return s->sampled[i].words;
    return "";
}

/* `pid` and everything below; all of it is started by the main threads of its processes. */
static void look(const struct sampling *s, FILE *out, double at_s, pid_t pid, int depth)
{
    char path[64];
    int child = 0;
    FILE *file;
    write_sample(out, at_s, pid, words_of(s, pid));
    snprintf(path, sizeof path, "task/%d/children", (int)pid);
    file = depth < DEPTH_MAX ? proc_open(pid, path) : NULL;
    for (int i = 0; file != NULL && i < DESCENDANTS_MAX && fscanf(file, "%d", &child) == 1; i++)
        look(s, out, at_s, child, depth + 1);
    if (file != NULL)
        fclose(file);
}

static void run(void *data)
{
    const struct sampling *s = data;
    FILE *out = fopen(s->path, "we");
    int64_t start_ms;
    if (out == NULL)
        _exit(1);
    fprintf(out, "at_s,pid,process,state,rss_kib,pss_kib,descriptors,cpu_ms\n");
    start_ms = now_ms();
    for (int64_t next_ms = start_ms;; next_ms += s->every_ms) {
        if (next_ms > now_ms())
            sleep_ms(next_ms - now_ms());
        look(s, out, (double)(now_ms() - start_ms) / 1000, s->rig, 0);
        fflush(out);
    }
}

pid_t sampler_start(const struct sampling *s)
{
    static struct sampling sampling;
    sampling = *s;
    return helper_start(run, &sampling);
}
