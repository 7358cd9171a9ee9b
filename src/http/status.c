/* SPDX-License-Identifier: MIT */
/* http/status.c -- the words of statuses, and what a request that is none is told. */
#include "http/http_conn.h"

#include "base/attr.h"

const char *http_reason(unsigned status)
{
    static const struct {
        unsigned status;
        const char *text;
    } reasons[] = {
        {200, "OK"                             },
        {201, "Created"                        },
        {202, "Accepted"                       },
        {204, "No Content"                     },
        {207, "Multi-Status"                   },
        {304, "Not Modified"                   },
        {400, "Bad Request"                    },
        {401, "Unauthorized"                   },
        {403, "Forbidden"                      },
        {404, "Not Found"                      },
        {405, "Method Not Allowed"             },
        {409, "Conflict"                       },
        {410, "Gone"                           },
        {412, "Precondition Failed"            },
        {413, "Content Too Large"              },
        {414, "URI Too Long"                   },
        {415, "Unsupported Media Type"         },
        {421, "Misdirected Request"            },
        {422, "Unprocessable Content"          },
        {423, "Locked"                         },
        {429, "Too Many Requests"              },
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"          },
        {501, "Not Implemented"                },
        {503, "Service Unavailable"            },
        {505, "HTTP Version Not Supported"     },
        {507, "Insufficient Storage"           }
    };
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "Unknown";
}

pawl_str http_refusal(unsigned status)
{
    static const struct {
        unsigned status;
        const char *body;
    } texts[] = {
        {400,
         "{\"error\":{\"code\":\"bad_request\",\"message\":\"this is no well-formed HTTP/1.1 "
         "request: a line of method, target and version, then headers, each ended by CR LF\"}}"},
        {414,
         "{\"error\":{\"code\":\"too_long\",\"message\":\"the request line is over the limit of "
         "16 KiB\"}}"                                                                          },
        {431,
         "{\"error\":{\"code\":\"too_large\",\"message\":\"the head of the request is over the "
         "limit of 20 KiB and 100 headers\"}}"                                                 },
        {505, "{\"error\":{\"code\":\"bad_version\",\"message\":\"only HTTP/1.0 and HTTP/1.1 are "
              "spoken here\"}}"                                                   },
        {503, "{\"error\":{\"code\":\"no_memory\",\"message\":\"out of memory\"}}"             }
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (texts[i].status == status)
            return pawl_s(texts[i].body);
    return (pawl_str){"", 0};
}
