/* SPDX-License-Identifier: MIT */
/*
 * server/handlers.h -- what the routes do; routes.c has the table.
 *
 * A handler leaves an answer in the call, or hands the call on (call_away and a
 * submit, call_park) and makes sure that call_done() is called once.
 */
#ifndef PAWL_SERVER_HANDLERS_H
#define PAWL_SERVER_HANDLERS_H

#include "server/server.h"

/* Submit a request; on_back makes the answer from call->reply.  Refused at once: answered. */
void call_submit(struct call *c, const pawl_request *request, void (*on_back)(struct call *c));
/* The same for a call that is away already, with a reader that keeps it. */
void call_hand_in(struct call *c, const pawl_request *request, void (*on_back)(struct call *c));

/* web_files.c */
void handle_root(struct call *c);
void handle_file(struct call *c);
/* What they will want to know of the head. */
void web_keep_values(struct call *c, const struct head *head);

/* sign_in.c */
void handle_login(struct call *c);
void handle_logout(struct call *c);
void handle_session(struct call *c);
/* The token in the cookie of a request that our page made; NULL: there is none. */
const char *session_token(struct call *c);

/* health_routes.c */
void handle_health(struct call *c);
void handle_ready(struct call *c);
void handle_version(struct call *c);
void handle_metrics(struct call *c);
void handle_openapi(struct call *c); /* openapi.c */
void handle_stream(struct call *c);  /* stream.c */

/* node_routes.c */
void handle_registry(struct call *c);
void handle_node(struct call *c);

/* overview.c */
void handle_overview(struct call *c);
void handle_series(struct call *c);

/* instances.c */
void handle_start(struct call *c);
void handle_job(struct call *c);
void handle_rerun(struct call *c);
void handle_set_attributes(struct call *c);
void handle_raise(struct call *c);
void handle_steer(struct call *c); /* the operation of its route */
void handle_prune(struct call *c);
void handle_remove(struct call *c);
void handle_batch(struct call *c); /* batch.c */

/* instances_read.c */
void handle_get(struct call *c);
void handle_executions(struct call *c);
void handle_export(struct call *c);
void handle_history(struct call *c);
void handle_why(struct call *c);
void handle_timeline(struct call *c);
void handle_asks(struct call *c); /* ask_list.c */
void handle_state(struct call *c);
void handle_state_key(struct call *c); /* state_wait.c */
void handle_update(struct call *c);    /* update_wait.c */
void handle_update_result(struct call *c);
/* The update that comes with a start; false: 400 was answered.  When the start is answered: true if
 * there is one, and its answer is waited for. */
bool read_start_update(struct call *c, pawl_request *q);
bool follow_start_update(struct call *c);
void start_members(const struct call *c, pawl_json *w); /* of c->reply */
void handle_count(struct call *c);                      /* instance_count.c */
void handle_tree(struct call *c);
void handle_wait(struct call *c); /* instance_wait.c */
/* Answer with the instance; false: it could not be read, and that is answered. */
bool answer_instance(struct call *c, const char *id, uint64_t execution, unsigned status);
/* instance_list.c */
void handle_list(struct call *c);
/* pawl_state + 1 of a word, 0 when there is none such. */
int state_of_word(const char *word);
/* A bit for each of the words "failed,blocked"; NULL: 0.  False: answered. */
bool states_of_words(struct call *c, const char *list, uint32_t *ret);

#endif
