/*-------------------------------------------------------------------------
 *
 * secret_file.c
 *	  Secrets that settings name by a file: passwords and keys for other
 *	  services.
 *
 *-------------------------------------------------------------------------
 */
#include "src/server/server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECRET_FILE_LIMIT 16384

static bool
read_whole(int fd, ls_arena *arena, ls_str *content)
{
	char *data = ls_arena_alloc(arena, SECRET_FILE_LIMIT);
	size_t len = 0;

	while (data != NULL && len < SECRET_FILE_LIMIT)
	{
		ssize_t n = read(fd, data + len, SECRET_FILE_LIMIT - len);

		if (n < 0)
			return false;
		if (n == 0)
		{
			*content = ls_str_make(data, len);
			return true;
		}
		len += (size_t) n;
	}
	return false;
}

ls_secret_file
ls_read_secret_file(const char *path, ls_arena *arena, ls_str *content)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool whole;

	if (fd < 0)
		return LS_SECRET_FILE_MISSING;
	if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || (info.st_mode & 077) != 0)
	{
		close(fd);
		return LS_SECRET_FILE_EXPOSED;
	}
	whole = read_whole(fd, arena, content);
	close(fd);
	return whole ? LS_SECRET_FILE_OK : LS_SECRET_FILE_UNREADABLE;
}
