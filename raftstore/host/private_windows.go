package host

import (
	"fmt"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// writes are the rights with which somebody changes a file, a folder, or who may.
const writes = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | 0x40 /* FILE_DELETE_CHILD */ |
	windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL

func private(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 { // the second are junctions
		return fmt.Errorf("%s is a link", path)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return os.NewSyscallError("GetTokenInformation", err)
	}
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return &fs.PathError{Op: "GetNamedSecurityInfo", Path: path, Err: err}
	}
	trusted := func(sid *windows.SID) bool {
		return sid.Equals(user.User.Sid) || sid.IsWellKnown(windows.WinLocalSystemSid) || sid.IsWellKnown(windows.WinBuiltinAdministratorsSid)
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return &fs.PathError{Op: "GetSecurityDescriptorOwner", Path: path, Err: err}
	}
	if owner == nil || !trusted(owner) { // what an administrator makes belongs to the administrators
		return fmt.Errorf("%s belongs to %s, and you are %s", path, owner, user.User.Sid)
	}
	list, _, err := sd.DACL()
	if err != nil {
		return &fs.PathError{Op: "GetSecurityDescriptorDacl", Path: path, Err: err}
	}
	if list == nil { // then everybody may do everything
		return fmt.Errorf("others may write %s", path)
	}
	for i := range uint32(list.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, i, &ace); err != nil {
			return &fs.PathError{Op: "GetAce", Path: path, Err: err}
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE || ace.Header.AceFlags&windows.INHERIT_ONLY_ACE != 0 || ace.Mask&writes == 0 {
			continue
		}
		sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart))
		if !trusted(sid) && !sid.IsWellKnown(windows.WinCreatorOwnerRightsSid) {
			return fmt.Errorf("others (%s) may write %s", sid, path)
		}
	}
	return nil
}
