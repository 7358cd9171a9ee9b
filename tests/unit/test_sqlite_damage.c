/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_sqlite_damage.c -- a database damaged at random: what is served is what was
 * written, byte for byte, or an error.
 *
 * Everything in the store follows from its number, so that whatever comes back can be checked:
 * text_of(number, field).  A seed decides what is done to the closed file: bits turned over,
 * bytes overwritten, sectors zeroed, pages exchanged, pieces copied elsewhere.  What is not
 * served any more is counted and shown: a row whose page is lost cannot be missed by its sum.
 *
 *     PAWL_DAMAGE_SEEDS=FROM..TO test_sqlite_damage seeds     others than those of make test
 */
#include "test_sqlite.h"

#include "store/sqlite/sum.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#define INSTANCES 25
#define EVENTS    12 /* of each */
#define ENTRIES   60
#define QUEUE     7777 /* its qid; ids of ours are below */
#define IDS_MAX   4000

/* ---- What is written -------------------------------------------------------------- */

static char texts[16][4200];

/* Mostly short, some over several pages, a few not text. */
static pawl_str text_of(uint64_t id, int field)
{
    static int turn;
    uint64_t x = id * 1000003 + (uint64_t)field * 7919 + 1;
    char *at = texts[turn++ % 16];
    size_t len = x % 11 == 0 ? 2000 + x % 2000 : x % 5 == 0 ? 0 : 3 + x % 60;
    for (size_t i = 0; i < len; i++) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        at[i] = (char)('a' + (x >> 59));
    }
    if (len && id % 17 == 0)
        at[len / 2] = (char)0xff;
    return (pawl_str){at, len};
}

/* What each number was given to. */
static struct {
    char is; /* 'i'nstance, 'e'vent, 'm'essage, 'w'ork, 'q'ueue entry */
    uint64_t uid, seq;
} given[IDS_MAX];

static uint64_t give(struct box *b, char is, uint64_t uid, uint64_t seq)
{
    uint64_t id = box_id(b);
    ck_assert(id < IDS_MAX);
    given[id].is = is;
    given[id].uid = uid ? uid : id;
    given[id].seq = seq;
    return id;
}

static pawl_row row_of(uint64_t uid)
{
    static char id[32];
    (void)snprintf(id, sizeof id, "instance-%" PRIu64, uid);
    return (pawl_row){.uid = uid,
                      .id = pawl_s(id),
                      .orchestration = text_of(uid, 1),
                      .version = text_of(uid, 2),
                      .state = uid % 2 ? PAWL_COMPLETED : PAWL_RUNNING,
                      .execution = 1,
                      .created_ms = (int64_t)uid * 1001,
                      .parent_ref = uid % 3,
                      .parent_id = text_of(uid, 3),
                      .output = text_of(uid, 4),
                      .custom_status = text_of(uid, 5),
                      .finding = text_of(uid, 6)};
}

static pawl_event event_of(uint64_t rid, uint64_t seq)
{
    return (pawl_event){.rid = rid,
                        .execution = 1,
                        .seq = seq,
                        .kind = PAWL_EV_ACTIVITY_SCHEDULED,
                        .ref = seq,
                        .name = text_of(rid, 1),
                        .data = text_of(rid, 2),
                        .attrs = text_of(rid, 3),
                        .at_ms = (int64_t)rid * 1003};
}

static pawl_message message_of(uint64_t id)
{
    return (pawl_message){.id = id,
                          .uid = given[id].uid,
                          .kind = PAWL_MSG_EXTERNAL_RAISED,
                          .ref = id % 5,
                          .execution = 1,
                          .name = text_of(id, 1),
                          .data = text_of(id, 2),
                          .attrs = text_of(id, 3),
                          .created_ms = (int64_t)id * 1007,
                          .mailbox = id % 2};
}

static pawl_work work_of(uint64_t id)
{
    return (pawl_work){.id = id,
                       .uid = given[id].uid,
                       .execution = 1,
                       .ref = id % 9,
                       .name = pawl_s("Send"),
                       .input = text_of(id, 2),
                       .attrs = text_of(id, 3),
                       .attempt = 1,
                       .scheduled_ms = (int64_t)id * 1009};
}

static pawl_queue_entry entry_of(uint64_t id)
{
    return (pawl_queue_entry){.id = id,
                              .qid = QUEUE,
                              .priority = (int64_t)id % 3,
                              .place = id,
                              .enqueued_ms = (int64_t)id * 1013,
                              .bytes = id,
                              .data = text_of(id, 1),
                              .attrs = text_of(id, 2)};
}

static void commit(struct box *b, pawl_round *r)
{
    ck_assert_msg(box_commit(b, r, 1) == PAWL_OK && r->result == PAWL_OK, "%s", b->err.text);
}

static void write_instance(struct box *b)
{
    uint64_t uid = give(b, 'i', 0, 0), last = 0, first = 0;
    for (uint64_t seq = 1; seq <= EVENTS; seq++) {
        uint64_t rid = give(b, 'e', uid, seq);
        pawl_event e = event_of(rid, seq); /* three texts … */
        first = first ? first : rid;
        pawl_row row = seq == 1 ? row_of(uid) : (pawl_row){.uid = uid, .execution = 1}; /* … six */
        row.first_rid = first;
        row.last_seq = seq;
        row.last_rid = rid;
        commit(b, &(pawl_round){.uid = uid,
                                .execution = 1,
                                .base_seq = seq - 1,
                                .base_rid = last,
                                .change = seq == 1 ? PAWL_ROW_INSERT : PAWL_ROW_LAST,
                                .row = &row,
                                .events = &e,
                                .event_count = 1});
        last = rid;
    }
    given[uid].seq = first;
}

static void write_others(struct box *b, uint64_t uid)
{
    pawl_message m = message_of(give(b, 'm', uid, 0));
    commit(b, &(pawl_round){.messages = &m, .message_count = 1});
    pawl_work w = work_of(give(b, 'w', uid, 0));
    commit(b, &(pawl_round){.work = &w, .work_count = 1});
}

static void write_queue(struct box *b)
{
    pawl_queue_row q = {.qid = QUEUE, .name = pawl_s("q"), .ready = ENTRIES};
    pawl_queue_round qr = {.new_queues = &q, .new_queue_count = 1};
    commit(b, &(pawl_round){.queue = &qr});
    for (int i = 0; i < ENTRIES; i++) {
        pawl_queue_entry e = entry_of(give(b, 'q', 0, 0));
        qr = (pawl_queue_round){.entries = &e, .entry_count = 1};
        commit(b, &(pawl_round){.queue = &qr});
    }
}

static void write_all(struct box *b)
{
    box_make_in(b, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    box_open(b);
    memset(given, 0, sizeof given);
    for (int i = 0; i < INSTANCES; i++) {
        uint64_t uid = b->fence.next_id;
        write_instance(b);
        write_others(b, uid);
    }
    write_queue(b);
    box_close(b);
}

/* ---- What comes back ------------------------------------------------------------------ */

static struct {
    int served, refused, missing;
    uint64_t seed;
} tally;

static bool same(pawl_str a, pawl_str b)
{
    return a.len == b.len && (!a.len || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static void must(bool fine, const char *what, uint64_t id)
{
    ck_assert_msg(fine, "seed %" PRIu64 ": %s %" PRIu64 " is not what was written", tally.seed,
                  what, id);
    tally.served++;
}

static bool is(uint64_t id, char kind)
{
    return id < IDS_MAX && given[id].is == kind;
}

static void check_row(const pawl_row *r)
{
    if (r->state == PAWL_BLOCKED) { /* none was written so: "its stored row is damaged" */
        ck_assert(strstr(r->finding.ptr, "damaged"));
        tally.refused++;
        return;
    }
    pawl_row want = is(r->uid, 'i') ? row_of(r->uid) : (pawl_row){0};
    must(is(r->uid, 'i') && same(r->id, want.id) && same(r->orchestration, want.orchestration) &&
             same(r->version, want.version) && r->state == want.state &&
             r->first_rid == given[r->uid].seq && r->created_ms == want.created_ms &&
             r->parent_ref == want.parent_ref && same(r->parent_id, want.parent_id) &&
             same(r->output, want.output) && same(r->custom_status, want.custom_status) &&
             same(r->finding, want.finding),
         "instance", r->uid);
}

static void check_event(uint64_t uid, const pawl_event *e)
{
    pawl_event want = is(e->rid, 'e') ? event_of(e->rid, given[e->rid].seq) : (pawl_event){0};
    must(is(e->rid, 'e') && given[e->rid].uid == uid && e->seq == want.seq &&
             e->kind == want.kind && e->ref == want.ref && e->at_ms == want.at_ms &&
             same(e->name, want.name) && same(e->data, want.data) && same(e->attrs, want.attrs),
         "event", e->rid);
}

static void check_messages(const pawl_message_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const pawl_message *m = &list->items[i];
        pawl_message want = is(m->id, 'm') ? message_of(m->id) : (pawl_message){0};
        must(is(m->id, 'm') && m->uid == want.uid && m->kind == want.kind && m->ref == want.ref &&
                 m->created_ms == want.created_ms && same(m->name, want.name) &&
                 same(m->data, want.data) && same(m->attrs, want.attrs),
             "message", m->id);
    }
}

static void check_work(const pawl_work_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const pawl_work *w = &list->items[i];
        pawl_work want = is(w->id, 'w') ? work_of(w->id) : (pawl_work){0};
        must(is(w->id, 'w') && w->uid == want.uid && w->ref == want.ref &&
                 same(w->name, want.name) && same(w->input, want.input) &&
                 same(w->attrs, want.attrs) && w->scheduled_ms == want.scheduled_ms,
             "work", w->id);
    }
}

static void check_entries(const pawl_entry_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const pawl_queue_entry *e = &list->items[i];
        pawl_queue_entry want = is(e->id, 'q') ? entry_of(e->id) : (pawl_queue_entry){0};
        must(is(e->id, 'q') && e->priority == want.priority && e->bytes == want.bytes &&
                 e->enqueued_ms == want.enqueued_ms && same(e->data, want.data) &&
                 same(e->attrs, want.attrs),
             "queue entry", e->id);
    }
}

/* True: it was answered. */
static bool answered(pawl_status rc)
{
    tally.refused += rc != PAWL_OK;
    return rc == PAWL_OK;
}

static void read_instance(struct box *b, uint64_t uid)
{
    pawl_row row;
    pawl_event_list events;
    pawl_message_list mail;
    pawl_work_list work;
    const pawl_store_ops *ops = b->s->ops;
    uint64_t work_id = 0;
    for (uint64_t id = uid; id < IDS_MAX && !work_id; id++)
        work_id = given[id].is == 'w' ? id : 0;
    if (answered(ops->find_uid(b->s, uid, b->mem, &row, &b->err)))
        check_row(&row);
    if (answered(ops->find(b->s, row_of(uid).id, b->mem, &row, &b->err)))
        check_row(&row);
    if (answered(ops->read_history(b->s, uid, 1, 0, 0, b->mem, &events, &b->err))) {
        for (size_t i = 0; i < events.count; i++)
            check_event(uid, &events.items[i]);
        tally.missing += events.count < EVENTS;
    }
    if (answered(ops->read_messages(b->s, uid, (pawl_str){0}, b->mem, &mail, &b->err)))
        check_messages(&mail);
    if (answered(ops->read_work(b->s, &work_id, 1, b->mem, &work, &b->err)))
        check_work(&work);
}

static void read_queues(struct box *b)
{
    pawl_entry_list list;
    const pawl_queue_ops *ops = b->s->ops->queues;
    pawl_entry_query ready = {.order = PAWL_ENTRIES_READY, .qid = QUEUE, .limit = 1000};
    pawl_entry_query all = {.order = PAWL_ENTRIES_BY_ID, .qid = QUEUE, .limit = 1000};
    if (answered(ops->query_entries(b->s, &ready, b->mem, &list, &b->err))) {
        check_entries(&list);
        tally.missing += list.count < ENTRIES;
    }
    if (answered(ops->query_entries(b->s, &all, b->mem, &list, &b->err)))
        check_entries(&list);
    for (uint64_t id = 1; id < IDS_MAX; id++)
        if (given[id].is == 'q' &&
            answered(ops->read_entries(b->s, &id, 1, false, b->mem, &list, &b->err)))
            check_entries(&list);
}

static void read_all(struct box *b)
{
    pawl_row_list rows;
    pawl_message_list mail;
    pawl_work_list work;
    const pawl_store_ops *ops = b->s->ops;
    if (answered(ops->list(b->s, &(pawl_row_query){.limit = 1000}, b->mem, &rows, &b->err)))
        for (size_t i = 0; i < rows.count; i++)
            check_row(&rows.items[i]);
    for (uint64_t id = 1; id < IDS_MAX; id++)
        if (given[id].is == 'i')
            read_instance(b, id);
    read_queues(b);
    if (answered(ops->fetch_messages(b->s, 1000, 1000, b->mem, &mail, &b->err)))
        check_messages(&mail);
    pawl_str name = pawl_s("Send");
    if (answered(ops->fetch_work(b->s, 1000, &name, 1, 1000, b->mem, &work, &b->err)))
        check_work(&work);
}

/* ---- Damage -------------------------------------------------------------------------------- */

static uint64_t dice;

static uint64_t draw(uint64_t below)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (dice >> 33) % below;
}

static void put(int fd, const void *bytes, size_t n, uint64_t at)
{
    ck_assert_int_eq(pwrite(fd, bytes, n, (off_t)at), (ssize_t)n);
}

static void get(int fd, void *bytes, size_t n, uint64_t at)
{
    memset(bytes, 0, n);
    ck_assert_int_ge(pread(fd, bytes, n, (off_t)at), 0);
}

/* Sparing the header: whoever cannot open it serves nothing. */
static void harm(int fd, uint64_t size)
{
    static unsigned char a[4096], c[4096];
    uint64_t at = 100 + draw(size - 100), page = 4096 * (1 + draw(size / 4096 - 1)),
             other = 4096 * (1 + draw(size / 4096 - 1));
    switch (draw(5)) {
    case 0: /* a bit */
        get(fd, a, 1, at);
        a[0] ^= (unsigned char)(1 << draw(8));
        put(fd, a, 1, at);
        break;
    case 1: /* a few bytes */
        for (size_t i = 0; i < 16; i++)
            a[i] = (unsigned char)draw(256);
        put(fd, a, 1 + draw(16), at);
        break;
    case 2: /* a sector */
        memset(a, 0, 512);
        put(fd, a, 512, page + 512 * draw(8));
        break;
    case 3: /* two pages, one for the other */
        get(fd, a, 4096, page);
        get(fd, c, 4096, other);
        put(fd, a, 4096, other);
        put(fd, c, 4096, page);
        break;
    default: /* a piece of it elsewhere */
        get(fd, a, 200, at);
        put(fd, a, 1 + draw(200), 100 + draw(size - 300));
        break;
    }
}

static void damage_file(const char *file, uint64_t seed)
{
    struct stat st;
    int fd = open(file, O_RDWR | O_CLOEXEC);
    ck_assert(fd >= 0 && fstat(fd, &st) == 0);
    dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (uint64_t n = 1 + draw(4); n; n--)
        harm(fd, (uint64_t)st.st_size);
    (void)close(fd);
}

static void copy(const char *from, const char *to)
{
    static char bytes[8 << 20];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n = read(in, bytes, sizeof bytes);
    ck_assert(n > 0 && n < (ssize_t)sizeof bytes && write(out, bytes, (size_t)n) == n);
    (void)close(in);
    (void)close(out);
}

static void try_seed(const struct box *safe, uint64_t seed)
{
    struct box b;
    box_make_in(&b, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    copy(safe->file, b.file);
    tally.seed = seed;
    if (seed)
        damage_file(b.file, seed);
    b.s = pawl_sqlite_store(b.file, PAWL_STORE_OPTS(.now_ms = 1000), &b.err);
    if (b.s && b.s->ops->take(b.s, 1000, &b.fence, &b.err) == PAWL_OK)
        read_all(&b);
    else
        tally.refused++;
    box_drop(&b);
}

static void try_seeds(uint64_t from, uint64_t to)
{
    struct box safe;
    write_all(&safe);
    try_seed(&safe, 0);
    ck_assert_msg(tally.refused == 0 && tally.missing == 0, "the undamaged one");
    for (uint64_t seed = from; seed <= to; seed++)
        try_seed(&safe, seed);
    printf("| seeds %" PRIu64 "..%" PRIu64 ": %d rows as they were written, %d refused, %d times "
           "rows were missing\n",
           from, to, tally.served, tally.refused, tally.missing);
    box_drop(&safe);
}

TEST(D07_seeds_what_is_served_is_what_was_written)
{
    const char *given_seeds = getenv("PAWL_DAMAGE_SEEDS");
    uint64_t from = 1, to = 150;
    if (given_seeds)
        ck_assert_int_eq(sscanf(given_seeds, "%" SCNu64 "..%" SCNu64, &from, &to), 2);
    try_seeds(from, to);
}

/* Only who asks for it is told, and who lists them. */
TEST(a_damaged_object_is_refused)
{
    struct box b;
    pawl_object two[] = {
        {.kind = 1, .name = pawl_s("a"), .data = pawl_s("{\"x\":1}")},
        {.kind = 1, .name = pawl_s("b"), .data = pawl_s("{\"x\":2}")}
    };
    pawl_object o;
    pawl_object_list list;
    pawl_round_extra extra = {.size = sizeof(extra), .objects = two, .object_count = 2};
    pawl_round round = {.extra = &extra};
    static const char *const damage[] = {"data='{\"x\":3}'", "version=7", "updated_ms=7", "sum=0"};
    for (size_t i = 0; i < COUNT_OF(damage); i++) {
        char sql[100];
        box_make(&b);
        box_open(&b);
        ck_assert_int_eq(b.s->ops->commit(b.s, &b.fence, &round, 1, 1000, &b.err), PAWL_OK);
        ck_assert_int_eq(round.result, PAWL_OK);
        (void)snprintf(sql, sizeof sql, "UPDATE object SET %s WHERE name='a'", damage[i]);
        box_sql(&b, sql);
        ck_assert_int_eq(b.s->ops->read_object(b.s, 1, two[0].name, b.mem, &o, &b.err),
                         PAWL_CORRUPT);
        ck_assert_ptr_nonnull(strstr(b.err.text, "object 'a' is damaged"));
        ck_assert_int_eq(b.s->ops->read_object(b.s, 1, two[1].name, b.mem, &o, &b.err), PAWL_OK);
        ck_assert_int_eq(
            b.s->ops->list_objects(b.s, 1, pawl_s(""), pawl_s(""), 9, b.mem, &list, &b.err),
            PAWL_CORRUPT);
        box_drop(&b);
    }
}

TEST(every_bit_of_a_text_is_in_its_sum)
{
    char text[80];
    for (size_t len = 1; len <= 70; len++) {
        pawl_event e = {
            .rid = 5, .execution = 1, .data = {text, len}
        };
        memset(text, 'x', sizeof text);
        int64_t sum = sum_event(3, &e);
        ck_assert(sum > 0 && sum <= INT32_MAX);
        for (size_t bit = 0; bit < len * 8; bit++) {
            text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
            ck_assert_msg(sum_event(3, &e) != sum, "bit %zu of %zu bytes", bit, len);
            text[bit / 8] = 'x';
        }
        e.data.len--;
        ck_assert(sum_event(3, &e) != sum);
    }
}

/* Bytes that move from one column into the next are other bytes. */
TEST(a_row_in_the_place_of_another_does_not_fit)
{
    pawl_event e = {.rid = 5,
                    .execution = 1,
                    .ref = 7,
                    .kind = 10,
                    .at_ms = 9,
                    .name = pawl_s("ab"),
                    .data = pawl_s("cd")};
    int64_t sum = sum_event(3, &e);
    pawl_event others[] = {e, e, e, e, e, e, e};
    others[0].rid++;
    others[1].execution++;
    others[2].ref++;
    others[3].kind++;
    others[4].at_ms++;
    others[5].name = pawl_s("abc"), others[5].data = pawl_s("d");
    others[6].name = pawl_s("cd"), others[6].data = pawl_s("ab");
    for (size_t i = 0; i < 7; i++)
        ck_assert_msg(sum_event(3, &others[i]) != sum, "%zu", i);
    ck_assert(sum_event(4, &e) != sum);
}

/* They are in files: whoever changes what a sum is makes all rows damaged. */
TEST(sums_stay_what_they_are)
{
    char text[256];
    uint64_t all[6] = {0};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 37 + 11);
    for (size_t n = 0; n < 100; n++) {
        const pawl_str a = {text, n}, b = {text + 1, n * 7 % 99}, c = {text + 2, n * 5 % 90};
        const pawl_event e = {n + 1, 2, n, n * 3, 4, a, b, c, 1234567};
        const pawl_row r = {.first_rid = n, .created_ms = 7, .id = a, .version = b, .output = c};
        const pawl_message m = {.id = n, .uid = 3, .kind = 2, .instance = a, .data = b, .attrs = c};
        const pawl_work w = {.id = n, .uid = 4, .ref = 1, .name = a, .input = b, .attrs = c};
        const pawl_queue_entry q = {.id = n, .priority = 1, .bytes = n, .data = a, .attrs = b};
        const pawl_object o = {.kind = 3, .name = a, .data = b};
        const int64_t sums[6] = {sum_event(9, &e), sum_row(n, &r), sum_message(&m),
                                 sum_work(&w),     sum_entry(&q),  sum_object(&o, n, 5)};
        for (size_t i = 0; i < 6; i++)
            all[i] = all[i] * 31 + (uint64_t)sums[i];
    }
    ck_assert_uint_eq(all[0], UINT64_C(0xf81016a41fef5672));
    ck_assert_uint_eq(all[1], UINT64_C(0xcd18e9cd91c3b90b));
    ck_assert_uint_eq(all[2], UINT64_C(0xad2c8b9e3981b69d));
    ck_assert_uint_eq(all[3], UINT64_C(0x8c592b76ca060a77));
    ck_assert_uint_eq(all[4], UINT64_C(0x7394e197ba1d9f81));
    ck_assert_uint_eq(all[5], UINT64_C(0x80279553b38455b2));
}
