/* See job_walk.h. */
#include "daemon/method/job_walk.h"

#include "daemon/method/job_json.h"

#define JOB_TEXT   512  /* usual bytes of a job in an answer */
#define WHOLE_TEXT 4096 /* with its spec */
#define LARGE_TEXT (4 * WHOLE_TEXT)

struct page {
    struct job_walk *walk;
    struct wire_buf *text;
};

static int add_job(void *arg, const struct job_view *v)
{
    const struct page *p = arg;
    struct wire_writer to = {.out = p->text};
    const size_t before = wire_buf_len(p->text);

    job_write(&to, NULL, v, p->walk->fields, p->walk->spec);
    const size_t took = wire_buf_len(p->text) - before;
    if (took > p->walk->job_text)
        p->walk->job_text = took;
    return to.error;
}

void job_walk_init(struct job_walk *w, const struct job_wish *wish, bool kept)
{
    const uint64_t spec = job_wish_spec(wish);

    *w = (struct job_walk){
        .walk = {.kept = kept, .specs = job_wish_walk(spec), .shows = spec != 0},
        .fields = job_wish_fields(wish),
        .spec = spec,
        .job_text = spec ? WHOLE_TEXT : JOB_TEXT};
}

int job_walk_portion(struct volt_cx *cx, struct call *call,
                     const struct job_filter *filter, struct job_walk *w,
                     struct wire_buf *text)
{
    const size_t before = wire_buf_len(text);

    w->walk.quota = call_quota(call);
    w->walk.at_once = 1 + quota_bytes_left(call_quota(call)) / 2 / w->job_text;
    if (w->job_text > LARGE_TEXT)
        call_go_aside(cx, call);
    int r = query_walk_step(cx, call_service(call)->core, call_asker(call), filter,
                            &w->walk, add_job, &(struct page){w, text});
    call_did(call, 0, wire_buf_len(text) - before);
    return r;
}
